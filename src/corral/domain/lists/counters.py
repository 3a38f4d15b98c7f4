"""Page numbers in URLs: `?page=2`, `?start=20`, `/page/2/`, `/list-2.html`."""

import re
from typing import NamedTuple
from urllib.parse import unquote_plus

PAGE_NAMES = frozenset(
    {"page", "p", "pg", "paged", "pageno", "pagenum", "page_no", "page_num", "pagenumber", "page_number", "pageindex"}
    | {"offset", "start", "skip", "seite", "pagina"}
)
PAGE_FOLDERS = frozenset({"page", "p", "pg", "seite", "pagina"})
# Further names for the links of a list only: as a rule for every URL of a site, they would be too weak.
_LIST_NAMES = (
    PAGE_NAMES
    | {"cp", "pn", "pageid", "page_id", "currentpage", "current_page", "cur_page", "pagenr", "sida", "side", "strona"}
    | {"stranka", "sayfa", "str", "from", "first", "startindex", "begin", "b", "o"}
)
_LIST_FOLDERS = PAGE_FOLDERS | {"pages", "strona", "sida", "side", "sayfa", "pagine", "страница", "offset", "start"}
_OFFSET_NAMES = frozenset({"offset", "start", "skip", "from", "first", "startindex", "begin", "b", "o"})
# Numbers that set how much of the list a page shows, or how it is sorted.
_OTHER_NAMES = frozenset(
    {"limit", "per_page", "perpage", "per-page", "size", "pagesize", "page_size", "count", "num", "rows", "show", "n"}
    | {"ps", "pp", "items", "results", "sort", "order", "view", "year", "month", "day", "id", "cat", "category", "v"}
)
_MAX_NUMBER_CHARS = 9
_SEGMENT = re.compile(r"(?P<before>(?:.*\D)?)(?P<number>[0-9]{1,9})(?P<after>(?:\.[A-Za-z]{2,5})?)")


class PageCounter(NamedTuple):
    """The page number of a URL. The slot is `?name` for a parameter, `/3` for an index in the URL split at slashes."""

    slot: str
    value: int
    template: str  # the URL with `\0` instead of the number

    def at(self, value: int) -> str:
        return self.template.replace("\0", str(value))

    @property
    def name(self) -> str:
        """Return the parameter, or the words before the number, in lower case."""
        if self.slot.startswith("?"):
            return unquote_plus(self.slot[1:]).lower().replace("[", "_").replace("]", "")
        before, _, _ = self.template.partition("\0")
        folder, _, stem = before.rpartition("/")
        return (stem.strip("-_=.") or folder.rpartition("/")[2]).lower().rpartition("-")[2]

    @property
    def is_page_name(self) -> bool:
        if self.slot.startswith("?"):
            return self.name in _LIST_NAMES or self.name.rpartition("_")[2] in PAGE_NAMES
        return self.name in _LIST_FOLDERS

    @property
    def is_other_name(self) -> bool:
        return self.slot.startswith("?") and self.name in _OTHER_NAMES

    @property
    def is_offset_name(self) -> bool:
        return self.name in _OFFSET_NAMES


def counters_in(url: str) -> list[PageCounter]:
    """Return every number of a URL that may count pages."""
    head, mark, query = url.partition("?")
    counters = []
    parts = query.split("&") if mark else []
    for index, part in enumerate(parts):
        name, has_value, value = part.partition("=")
        if has_value and value.isascii() and value.isdigit() and len(value) <= _MAX_NUMBER_CHARS:
            marked = [*parts[:index], f"{name}=\0", *parts[index + 1 :]]
            counters.append(PageCounter(f"?{name}", int(value), f"{head}?{'&'.join(marked)}"))
    segments = head.split("/")
    for index, segment in enumerate(segments[3:], 3):
        match = _SEGMENT.fullmatch(segment)
        if match is not None:
            marked = [*segments[:index], f"{match['before']}\0{match['after']}", *segments[index + 1 :]]
            counters.append(PageCounter(f"/{index}", int(match["number"]), "/".join(marked) + (mark + query)))
    return counters


def counter_in(url: str, slot: str) -> PageCounter | None:
    return next((each for each in counters_in(url) if each.slot == slot), None)


def add_param(url: str, param: str, value: int) -> str:
    """Return the URL with this query parameter, which it may lack."""
    counter = counter_in(url, f"?{param}")
    if counter is not None:
        return counter.at(value)
    return f"{url}{'&' if '?' in url else '?'}{param}={value}"


def next_address(url: str, slot: str, step: int) -> str | None:
    """Return the URL of the page after `url`; None if `url` has no number in the slot."""
    counter = counter_in(url, slot)
    return None if counter is None else counter.at(counter.value + step)
