"""Clean titles: compare headings with the <title>, and strip the name of the site from it."""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from corral.extract.names.words.text import fold

_SEPARATOR = re.compile(
    r"\s+(?:[|\-–—―·•»«:／~]|::|//|/|\\|>|›|→|←|⋅|❘|｜|★)\s+|\s*[｜|»›]\s*|\s*::\s*|\s+-\s*|(?<=\w):\s+| – "
    r"|_(?=[^\W\d_]+$)"
)
_STRONG = re.compile(r"\s+(?:[|\-–—―·•»«／｜❘⋅›]|::|//)\s+|\s*[｜|»›]\s*|\s*::\s*")

# Generic words in the names of sites.
_GENERIC = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "on",
        "at",
        "in",
        "by",
        "und",
        "and",
        "et",
        "y",
        "e",
        "le",
        "la",
        "les",
        "der",
        "die",
        "das",
        "de",
        "blog",
        "shop",
        "store",
        "online",
        "onlineshop",
        "boutique",
        "tienda",
        "negozio",
        "loja",
        "winkel",
        "news",
        "magazine",
        "magazin",
        "official",
        "site",
        "website",
        "home",
        "homepage",
        "com",
        "net",
        "org",
        "de",
        "inc",
        "ltd",
        "llc",
        "gmbh",
        "ag",
    ]
)
_MIN_SITE_CHARS = 4
# A longer text is no title; segment_equal compares all pairs of its separators.
_MAX_TITLE_CHARS = 500
_MIN_SITE_SHARE = 0.6


def site_words(host: str, *names: str | None) -> frozenset[str]:
    """Return the names of the site, folded: its own names, and the labels of its domain."""
    words = {fold(name) for name in names if name}
    labels = [label for label in host.lower().removeprefix("www.").split(".") if label]
    if labels:
        words.add(fold(".".join(labels)))
        words.add(fold(".".join(labels[-2:])))
        words.add(fold(labels[-2] if len(labels) > 1 else labels[0]))
        if len(labels) > 2 and len(labels[-2]) <= 3:
            words.add(fold(labels[-3]))
    return frozenset(word for word in words if word)


def host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def strip_site(title: str, site: frozenset[str]) -> str:
    """Return the title without a first or last segment that names the site."""
    if len(title) > _MAX_TITLE_CHARS:
        return title
    for _ in range(3):
        shorter = _strip_once(title, site)
        if shorter == title:
            break
        title = shorter
    return title


def _strip_once(title: str, site: frozenset[str]) -> str:
    cuts = list(_SEPARATOR.finditer(title))
    for cut in reversed(cuts):
        if _names_site(title[cut.end() :], site) and title[: cut.start()].strip():
            return title[: cut.start()].strip()
    for cut in cuts:
        if _names_site(title[: cut.start()], site) and title[cut.end() :].strip():
            return title[cut.end() :].strip()
    return title


def _names_site(text: str, site: frozenset[str]) -> bool:
    if not fold(text):
        return False
    if fold(text) in site or fold(text.replace("&", "and")) in site:
        return True
    # `The Acme Blog` and `Acme.example` are Acme; `How Acme was built` is not.
    words = [word for word in re.split(r"[\W_]+", text.casefold()) if word and word not in _GENERIC]
    joined = "".join(words)
    return len(joined) >= _MIN_SITE_CHARS and any(
        _is_most_of(joined, word) or _is_most_of(word, joined) for word in site
    )


def _is_most_of(part: str, whole: str) -> bool:
    return whole.startswith(part) and len(part) >= _MIN_SITE_SHARE * len(whole) and len(part) >= _MIN_SITE_CHARS


def segment_equal(title: str, heading: str) -> bool:
    """Return whether the heading is one or several whole segments of the title."""
    folded = fold(heading)
    if not folded or len(title) > _MAX_TITLE_CHARS:
        return False
    starts = [0, *(cut.end() for cut in _SEPARATOR.finditer(title))]
    ends = [*(cut.start() for cut in _SEPARATOR.finditer(title)), len(title)]
    return any(fold(title[start:end]) == folded for start in starts for end in ends if end > start)


def longest_segment(title: str) -> str:
    """Return the title without a short last segment after a strong separator, when nothing else is known."""
    cuts = list(_STRONG.finditer(title)) if len(title) <= _MAX_TITLE_CHARS else []
    if not cuts:
        return title
    head, tail = title[: cuts[-1].start()].strip(), title[cuts[-1].end() :].strip()
    # The title comes before `|` and similar signs; a hyphen may also separate a name from a title after it.
    is_clear = "-" not in cuts[-1][0] or len(fold(head)) >= len(fold(tail))
    if head and tail and len(tail.split()) <= 4 and is_clear:
        return longest_segment(head) if len(cuts) > 1 and len(head.split()) > 6 else head
    return title


def agree_on(candidate: str, others: Iterable[str]) -> bool:
    folded = fold(candidate)
    return any(folded == fold(other) or segment_equal(other, candidate) for other in others)
