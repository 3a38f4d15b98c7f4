"""Find the numbered pages of a list: which number in their URLs counts them, and its step."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import gcd

from corral.domain.crawl.templates.traps import is_dated
from corral.domain.lists.counters import PageCounter, counter_in, counters_in
from corral.extract.lists.page_links import PageLink

_LABEL = re.compile(r"(?:\D{0,30}\s)?([0-9]{1,6})")
_PAGE_LABEL = re.compile(r"\D{0,30}?([0-9]{1,6})")
_FIRST_YEAR = 1900
_MAX_GROUPS = 2_000


@dataclass(frozen=True, slots=True)
class NumberedPages:
    """`first` is the number of the first page, `last` the greatest that is linked, `own` that of this page."""

    counter: PageCounter  # of one of the links
    first: int
    step: int
    own: int
    last: int
    urls: dict[int, str]  # the linked pages, by number
    has_labels: bool

    @property
    def slot(self) -> str:
        return self.counter.slot

    @property
    def next_number(self) -> int:
        return self.own + self.step

    @property
    def next_url(self) -> str | None:
        """The next page, linked or in a gap such as `1 2 3 … 40`; None on the last page."""
        return self.url_at(self.next_number) if self.next_number <= self.last else None

    def url_at(self, number: int) -> str:
        return self.urls.get(number) or self.counter.at(number)


@dataclass(slots=True)
class _Group:
    """Links whose URLs differ in one number only."""

    counter: PageCounter
    urls: dict[int, str] = field(default_factory=dict)
    labels: dict[int, int] = field(default_factory=dict)  # by label, the number in the URL
    in_paging: int = 0


def find_numbered_pages(
    url: str, links: Sequence[PageLink], items: frozenset[str], known_slot: str = ""
) -> NumberedPages | None:
    """Return the numbered pages among the links of a list page; None if there are none.

    `url` is the page's own URL, `items` has the keys of its items, `known_slot` is the slot that counted earlier pages.
    """
    found = [pages for group in _group(url, links, items) if (pages := _read_group(url, group, known_slot)) is not None]
    return max(found, key=_rank, default=None)


def _rank(pages: NumberedPages) -> tuple[bool, bool, int]:
    return pages.has_labels, pages.counter.is_page_name, len(pages.urls)


def _group(url: str, links: Sequence[PageLink], items: frozenset[str]) -> Iterable[_Group]:
    groups: dict[str, _Group] = {}
    for page_link in links:
        if page_link.link.key in items:
            continue
        for counter in counters_in(page_link.link.url):
            if counter.is_other_name or not _is_beside(url, counter) or len(groups) >= _MAX_GROUPS:
                continue
            group = groups.setdefault(counter.template, _Group(counter))
            group.urls.setdefault(counter.value, page_link.link.url)
            group.in_paging += page_link.is_in_paging
            if (label := _label_of(page_link, counter)) is not None:
                group.labels.setdefault(label, counter.value)
    return groups.values()


def _label_of(link: PageLink, counter: PageCounter) -> int | None:
    """Return the page number in the label of a link, such as `2`, `[2]` or `Page 2`."""
    text = link.text.strip("[](){}·•|. \xa0")
    match = _LABEL.fullmatch(text)
    if match is None and counter.is_page_name:
        match = next(filter(None, (_PAGE_LABEL.fullmatch(label) for label in link.labels)), None)
    return int(match[1]) if match is not None else None


def _is_beside(url: str, counter: PageCounter) -> bool:
    """Return whether a counted URL belongs to the same list as `url`: the same path, with a number or without."""
    path, template_path = url.partition("?")[0], counter.template.partition("?")[0]
    if counter.slot.startswith("?"):
        return _bare(path) == _bare(template_path)
    if (own := counter_in(url, counter.slot)) is not None and own.template.partition("?")[0] == template_path:
        return True
    before, _, after = template_path.partition("\0")
    folder, _, stem = before.rpartition("/")
    if stem:  # `/list-2.html` beside `/list.html`, `/page-2/` beside `/`
        is_same_name = _bare(path) in (_bare(before.rstrip("-_=.") + after), _bare(before.rstrip("-_=.")))
        return is_same_name or (counter.is_page_name and _bare(path) == _bare(folder))
    return _bare(path) in (_bare(folder), _bare(folder.rpartition("/")[0] if counter.is_page_name else folder))


def _bare(path: str) -> str:
    head, _, last = path.rstrip("/").rpartition("/")
    stem = last.partition(".")[0].lower()
    return head if stem in ("index", "default") else path.rstrip("/")


def _read_group(url: str, group: _Group, known_slot: str) -> NumberedPages | None:
    counter = group.counter
    if not (counter.is_page_name or group.labels) or (is_dated(counter.at(1)) and not counter.is_page_name):
        return None
    own = counter_in(url, counter.slot)
    is_numbered = own is not None and _is_same_list(own, counter)
    rule = _find_rule(group, own.value if own is not None and is_numbered else None)
    if rule is None:
        return None
    first, step = rule
    number = own.value if own is not None and is_numbered else first
    is_known = counter.is_page_name or counter.slot == known_slot
    if not is_known and not _is_plausible(group, first, step, number, is_numbered=is_numbered):
        return None
    return NumberedPages(counter, first, step, number, max(group.urls), group.urls, bool(group.labels))


def _is_same_list(own: PageCounter, counter: PageCounter) -> bool:
    return own.template.partition("?")[0] == counter.template.partition("?")[0]


def _find_rule(group: _Group, own: int | None) -> tuple[int, int] | None:
    """Return the number of the first page, and the step."""
    pairs = sorted(group.labels.items())
    if len(pairs) > 1:
        return _fit(pairs)
    if pairs:
        label, value = pairs[0]
        return _fit_one(label, value, is_offset=group.counter.is_offset_name)
    if not group.counter.is_offset_name:
        lowest = min([*group.urls, *(() if own is None else (own,))])
        return (0 if lowest == 0 else 1), 1
    values = sorted({0 if own is None else own, *group.urls})
    step = gcd(*(after - before for before, after in pairwise(values))) if len(values) > 1 else 0
    return (values[0] % step, step) if step else None


def _fit(pairs: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the first number and the step of the line through most pairs of label and number."""
    slopes: Counter[tuple[int, int]] = Counter()
    for (label, value), (next_label, next_value) in pairwise(pairs):
        step, rest = divmod(next_value - value, next_label - label)
        if rest == 0 and step > 0:
            slopes[value - (label - 1) * step, step] += 1
    if not slopes:
        return None
    (first, step), _ = slopes.most_common(1)[0]
    return (first, step) if first >= 0 else None


def _fit_one(label: int, value: int, *, is_offset: bool) -> tuple[int, int] | None:
    if label == value and not is_offset:
        return 1, 1
    if label == value + 1 and not is_offset:
        return 0, 1
    if label < 2:
        return None
    for first in (0, 1):
        step, rest = divmod(value - first, label - 1)
        if rest == 0 and step > 0:
            return first, step
    return None


def _is_plausible(group: _Group, first: int, step: int, own: int, *, is_numbered: bool) -> bool:
    """Return whether a number without a page name counts pages: years, sizes and stars have labels, too."""
    if max(group.urls) >= _FIRST_YEAR and step == 1 and min(group.urls) >= _FIRST_YEAR:
        return False
    if is_numbered:
        return own + step in group.urls or own - step in group.urls or own == first
    return first not in group.urls and first + step in group.urls
