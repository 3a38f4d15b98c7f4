"""Traps: URLs whose shape proves that they never end, and the templates that group all others.

domain.crawl.templates.budget counts the pages and the new content of each template.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from enum import StrEnum

from corral.domain.lists.counters import PAGE_FOLDERS, PAGE_NAMES

MAX_SEGMENTS = 20
MAX_REPEATS = 3  # of one segment in a path; relative links without their leading slash produce such paths
# Event calendars reach this far ahead and archives this far back; a calendar beyond that is generated.
YEARS_AHEAD = 2
YEARS_BACK = 150

_MAX_PATH_CHARS = 120
_MAX_QUERY_CHARS = 60
_MAX_SEGMENT_CHARS = 64
# A full date anywhere; a year and a month only as a whole segment, because part numbers look like them.
_DAY = re.compile(r"(?<![0-9])([12][0-9]{3})([-_/.])(?:0?[1-9]|1[0-2])\2(?:0?[1-9]|[12][0-9]|3[01])(?![0-9])")
_MONTH = re.compile(r"[/=]([12][0-9]{3})[-_/](?:0?[1-9]|1[0-2])(?=[/?&]|$)")
_FOUR_DIGITS = re.compile("[12][0-9]{3}")
_YEAR = re.compile(r"([12][0-9]{3})(?:(?:0[1-9]|1[0-2])(?:[0-3][0-9])?)?(?![0-9])")
_DATE_NAMES = frozenset(
    {"year", "month", "date", "day", "week", "y", "yr", "from", "to", "start", "end", "cal", "when"}
)

_DATE = re.compile(r"[12][0-9]{3}[-_.][01]?[0-9](?:[-_.][0-3]?[0-9])?(?![0-9])")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
# Letters and digits mixed, unlike a word.
_TOKEN = re.compile(r"(?<![0-9a-z])(?=[a-z_-]*[0-9])(?=[0-9_-]*[a-z])[0-9a-z_-]{8,}(?![0-9a-z])")
_NUMBER = re.compile(r"[0-9]+")


class Trap(StrEnum):
    # Proven by the shape of the URL.
    REPEATED_SEGMENTS = "repeated_segments"
    TOO_MANY_SEGMENTS = "too_many_segments"
    CALENDAR = "calendar"
    # Suspected: the URL is fetched after all others.
    QUERY_VARIANTS = "query_variants"
    NO_NEW_CONTENT = "no_new_content"
    INVENTED_LINKS = "invented_links"
    # Proven by growth: the pages of the template lead only to more URLs of the same template.
    ENDLESS = "endless_growth"


DEFERRING = frozenset({Trap.QUERY_VARIANTS, Trap.NO_NEW_CONTENT, Trap.INVENTED_LINKS})
PROVEN = frozenset(Trap) - DEFERRING


def shape_of(url: str, today: date) -> Trap | None:
    """Return the trap that the shape of this canonical URL proves, or None."""
    if url.count("/") >= 6:  # two of them precede the host
        segments = url.partition("?")[0].split("/")[3:]
        if len(segments) - (not segments[-1]) > MAX_SEGMENTS:
            return Trap.TOO_MANY_SEGMENTS
        surplus = len(segments) - len(set(segments))
        if surplus >= MAX_REPEATS and any(segments.count(each) > MAX_REPEATS for each in set(segments)):
            return Trap.REPEATED_SEGMENTS
    return Trap.CALENDAR if _is_far_date(url, today.year) else None


def is_named_by_list(trap: str | None, page_url: str, today: date) -> bool:
    """True for a far date on a page that names no date or itself a far one, as the index of an old newspaper does.

    A generated calendar starts near today: it reaches far dates only from pages with nearer ones.
    """
    if trap != Trap.CALENDAR or not is_dated(page_url):
        return trap == Trap.CALENDAR
    month = _MONTH.search(page_url, page_url.find("/", 8))
    return _is_far_date(page_url, today.year) or (month is not None and int(month[1]) < today.year - YEARS_BACK)


def _is_far_date(url: str, this_year: int) -> bool:
    path_at = url.find("/", 8)
    if not _FOUR_DIGITS.search(url, path_at):
        return False  # fast path: most URLs have no year
    first, last = this_year - YEARS_BACK, this_year + YEARS_AHEAD
    if any(not first <= int(match[1]) <= last for match in _DAY.finditer(url, path_at)):
        return True
    if any(int(match[1]) > last for match in _MONTH.finditer(url, path_at)):
        return True
    _, mark, query = url.partition("?")
    return bool(mark) and any(not first <= year <= last for year in _years(query))


def _years(query: str) -> Iterator[int]:
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name.lower() in _DATE_NAMES and (match := _YEAR.match(value)):
            yield int(match[1])


def is_dated(url: str) -> bool:
    """True if the URL names a day or a month, or has a date parameter, as calendars do."""
    path_at = url.find("/", 8)
    if _FOUR_DIGITS.search(url, path_at) and (_DAY.search(url, path_at) or _MONTH.search(url, path_at)):
        return True
    _, mark, query = url.partition("?")
    return bool(mark) and any(part.partition("=")[0].lower() in _DATE_NAMES for part in query.split("&"))


def is_numbered_list(template: str) -> bool:
    """True for the page numbers of a list: `?page=7`, `?q=x&offset=70`, `/page/7`."""
    path, mark, query = template.partition("?")
    if mark:
        return any(name in PAGE_NAMES for name in query.split("&"))
    folder, _, last = path.rpartition("/")
    return last == "{n}" and folder.rpartition("/")[2] in PAGE_FOLDERS


def has_token(template: str) -> bool:
    """True if the URLs of the template differ in random tokens: session ids, hashes, keys."""
    return "{id}" in template


def template_of(url: str) -> str:
    """Return the template of a URL: host, path and parameter names in lower case.

    Placeholders replace numbers, dates, hashes and slugs; parameter values are dropped.
    """
    start = url.find("://") + 3
    path, mark, query = url[start:].lower().partition("?")
    host, slash, rest = path.partition("/")
    template = host + slash + "/".join([_blur(segment) if segment else "" for segment in rest.split("/")])
    if mark:
        names = sorted({part.partition("=")[0] for part in query.split("&")})
        parameters = "&".join([_NUMBER.sub("{n}", name) for name in names])
        return f"{template[:_MAX_PATH_CHARS]}?{parameters[:_MAX_QUERY_CHARS]}"
    return template[:_MAX_PATH_CHARS]


def family_of(template: str) -> str:
    """Return the name of all templates below a folder. A maze made of words never repeats a template."""
    path = template.partition("?")[0]
    host, _, rest = path.partition("/")
    folder, slash, _ = rest.partition("/")
    return f"{host}/{folder}/…" if slash else f"{host}/…"


def variants_of(template: str) -> str | None:
    """Return the name of all templates of a path with any query, as search forms and facets link to."""
    path, mark, _ = template.partition("?")
    return f"{path}?…" if mark else None


def names_of(template: str) -> tuple[str, ...]:
    """Return the names that a page of this template is counted by. No URL contains the ellipsis."""
    return (template, variants_of(template) or family_of(template))


def root_of(name: str) -> str:
    """Return the name that counts all pages directly below the host."""
    return family_of(name.partition("/")[0] + "/x")


def path_of(name: str) -> str:
    """Return the path or folder that a template shares with its second name."""
    return name.partition("?")[0] if "?" in name else family_of(name)


def list_beside(url: str, links: Iterable[str]) -> list[str]:
    """Return the links that are counted together with `url`: same path with any query, or same folder."""
    path, mark, _ = url.partition("?")
    if mark:
        return [link for link in links if link.startswith(f"{path}?")]
    root = url.find("/", 8) + 1
    end = url.find("/", root) + 1
    start = url[: end or root]
    beside = [link for link in links if link.startswith(start) and "?" not in link]
    return beside if end else [link for link in beside if "/" not in link[root:]]


def _blur(segment: str) -> str:
    if segment.isalpha():
        return segment
    # The patterns below may backtrack, so the length of their input is bounded.
    if len(segment) > _MAX_SEGMENT_CHARS:
        return "{name}"
    is_slug = "." not in segment and segment.count("-") + segment.count("_") >= 2
    if is_slug and not _DATE.search(segment) and not _UUID.fullmatch(segment):
        return "{name}"
    segment = _UUID.sub("{id}", segment)
    segment = _DATE.sub("{date}", segment)
    segment = _TOKEN.sub("{id}", segment)
    return _NUMBER.sub("{n}", segment)
