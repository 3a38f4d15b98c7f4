"""Derive the territory, number symbols and date order of a page from its language and URL.

The data is that of Babel (CLDR), which is imported at first use: a page without typed fields does not need it.
"""

import re
from functools import lru_cache
from urllib.parse import urlsplit

from corral.extract.types.model import TypeContext

_TAG = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|\d{3}))?(?:[-_].*)?")
_TERRITORY_OF_TLD = {"uk": "GB", "eu": "", "su": "RU", "ac": "GB"}
# Country-code domains that are sold for any use.
_GENERIC_TLDS = frozenset(
    {
        "ai",
        "cc",
        "co",
        "fm",
        "gg",
        "io",
        "is",
        "ly",
        "me",
        "so",
        "st",
        "to",
        "tv",
        "vc",
        "ws",
        "ac",
        "sh",
        "la",
        "ms",
        "nu",
    }
)
_NO_SYMBOLS = ("", "")


def split_tag(tag: str | None) -> tuple[str, str]:
    """Return the language and territory of a BCP 47 tag; a missing part is empty."""
    match = _TAG.fullmatch((tag or "").strip()[:35])
    if match is None:
        return "", ""
    return match[1].lower(), (match[3] or "").upper()


def territory_of_url(url: str) -> str:
    """Return the country of the top-level domain of a URL; empty if it has none."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    last = host.rpartition(".")[2].lower()
    if len(last) != 2 or not last.isalpha() or last in _GENERIC_TLDS:
        return ""
    return _TERRITORY_OF_TLD.get(last, last.upper())


def find_territory(context: TypeContext) -> tuple[str, float]:
    """Return the country of a page and its confidence, by the language tag, the domain, or the likely country."""
    language, territory = split_tag(context.language)
    if territory and not territory.isdigit():
        return territory, 1.0
    territory = territory_of_url(context.base_url)
    if territory:
        return territory, 0.9
    if language:
        return _likely_territory(language), 0.7
    return "", 0.0


# Memo: the pages of a crawl have few languages, and Babel searches its tables on each call.
@lru_cache(maxsize=256)
def _likely_territory(language: str) -> str:
    from babel.core import get_global  # noqa: PLC0415

    tag = get_global("likely_subtags").get(language, "")
    return split_tag(tag.replace("_", "-"))[1]


def number_symbols(context: TypeContext) -> tuple[str, str]:
    """Return the decimal and group symbols of the language of a page; empty if the language is unknown."""
    language, _ = split_tag(context.language)
    if not language:
        return _NO_SYMBOLS
    territory, _ = find_territory(context)
    return _symbols(language, territory)


# Memo: the pages of a crawl have few languages, and a locale takes milliseconds to look up.
@lru_cache(maxsize=256)
def _symbols(language: str, territory: str) -> tuple[str, str]:
    locale = _open_locale(language, territory)
    if locale is None:
        return _NO_SYMBOLS
    symbols = locale.number_symbols.get("latn") or locale.number_symbols.get(locale.default_numbering_system) or {}
    return symbols.get("decimal", ""), symbols.get("group", "").replace("\u00a0", "\u202f").replace("’", "'")


# Memo: as above.
@lru_cache(maxsize=256)
def date_order(language: str, territory: str) -> str:
    """Return the order of the short date of a locale, `dmy`, `mdy` or `ymd`; empty if it is unknown."""
    locale = _open_locale(language or "und", territory)
    if locale is None:
        return ""
    pattern = re.sub(r"'[^']*'", "", locale.date_formats["short"].pattern)
    order = "".join(dict.fromkeys(char.lower() for char in pattern if char in "dMyL")).replace("l", "m")
    return order if sorted(order) == ["d", "m", "y"] else ""


def _open_locale(language: str, territory: str):  # type: ignore[no-untyped-def]  # Babel is imported at first use
    from babel.core import Locale, UnknownLocaleError  # noqa: PLC0415

    for tag in (f"{language}_{territory}", language):
        try:
            return Locale.parse(tag)
        except (UnknownLocaleError, ValueError):
            continue
    return None
