"""How many new URLs of its own kind the pages of a template lead to.

Growth decides twice: deferred URLs of templates that do not grow come before those of templates that do, and a template
that never stops growing is a trap.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any

from corral.domain.crawl.templates.traps import names_of, variants_of

_BLOCK = 8  # pages whose yields are summed before they are compared
_MAX_BLOCKS = 128
_SLOWING = 0.93  # a set whose second half of pages yields less than this share of the first is about to drain

# Only recent growth counts. Below this rate, more URLs of a set are fetched than found: it drains.
_DRAINING = 0.75
_WINDOW = 16
_WINDOW_DATED = 62
_WINDOW_GAPS = 3  # a window spans this many of the longest gaps
# Pages without a new URL until a set counts as drained. A calendar names a whole month at once, and the pages of its
# days add nothing: the gap must be longer than the gaps before it.
_LEAST_GAP = 8
_LEAST_GAP_DATED = 31
_LONGER = 2

_BRANCHING_RATE = 1.5
_WIDE_RATE = 2.5
# Links between the pages of a set close it; a generator that invents its links never names a page twice. A menu entry
# on every page counts as one such link.
_CLOSING = 3
_CLOSING_SHARE = 32  # one closing link per this many URLs
_MAX_CLOSING = 32
_LEAVES = 2
_LEAVES_SHARE = 0.08


class Shape(StrEnum):
    """What the URLs of a template suggest about it. None of these is proof."""

    PLAIN = "plain"
    DATED = "dated"
    NUMBERED_LIST = "numbered_list"  # ?page=7
    COMBINED = "combined"  # several parameters
    TOKEN = "token"  # random letters and digits


# Pages that each kind of growth may use at full speed, and the factor for the suspicion of every later page. A chain
# may be a gallery, a tree may be a table of contents: these take turns as equals.
_CHAIN = (0, 1.0)
# Photos and chapters link back to the previous one; a script that counts up only leads on.
_ONE_WAY_CHAIN = (0, 3.0)
_BRANCHING = (0, 1.3)
_STRUCTURAL = (0, 40.0)
_COMBINATIONS = (12, 20.0)
_INVENTED = (12, 20.0)
_INVENTED_TOKENS = (4, 40.0)
# Most finite wide sets show that they are finite within this many pages. With several suspects, this would use up a
# budget.
_FREE_IF_ALONE = 40


@dataclass(slots=True)
class Spread:
    """Counts the new URLs of a template that its own pages lead to."""

    pages: int = 0
    added: int = 0  # new URLs of the same template
    repeats: int = 0  # pages whose content another page of the crawl had before
    gap: int = 0  # pages since the last one that added a URL
    longest_gap: int = 0  # between two pages that added URLs
    recent: float = 0.0  # new URLs per page, among the last pages
    leaves: int = 0  # pages without any link to a neighbouring page
    closing: set[int] = field(default_factory=set)  # known pages that neighbouring pages link to; only the first few
    leads_back: bool = False  # a page links to the page on which it was found, or to another known neighbour
    fed: int = 0  # new URLs elsewhere whose pages bring nothing new, such as the days of a month
    similar: int = 0  # pages whose content is similar to a neighbouring page
    dry: int = 0  # pages since the last one with new content, or one more than the count of a template it led to

    def document(self) -> list[Any]:
        counts = [self.pages, self.added, self.repeats, self.gap, self.longest_gap]
        return [
            *counts,
            round(self.recent, 3),
            self.leaves,
            sorted(self.closing),
            int(self.leads_back),
            self.fed,
            self.dry,
            self.similar,
        ]

    @staticmethod
    def of(document: Sequence[Any]) -> "Spread":
        spread = Spread(*document[:5])
        if len(document) >= 8:
            spread.recent, spread.leaves, spread.closing = document[5], document[6], set(document[7])
        elif spread.pages:
            spread.recent = spread.added / spread.pages  # in the format of an earlier version
        # Earlier versions did not store this; True is the harmless value.
        spread.leads_back = bool(document[8]) if len(document) > 8 else True
        spread.fed, spread.dry, spread.similar = document[9:12] if len(document) > 11 else (0, 0, 0)
        return spread

    def add(
        self,
        added: int,
        *,
        is_again: bool = False,
        is_similar: bool = False,
        is_dated: bool = False,
        closing: Collection[int] = (),
        leads_back: bool = False,
        fed: int = 0,
    ) -> None:
        self.pages += 1
        self.added += added
        self.fed += fed
        self.repeats += is_again
        self.similar += is_similar
        window = max(_WINDOW_DATED if is_dated else _WINDOW, _WINDOW_GAPS * self.longest_gap)
        self.recent += (added - self.recent) / min(self.pages, window)
        self.closing.update(islice(closing, max(0, _MAX_CLOSING - len(self.closing))))
        self.leads_back = self.leads_back or leads_back or bool(closing)
        self.leaves += not added and not closing
        if not added:
            self.gap += 1
            return
        if self.added > added:
            self.longest_gap = max(self.longest_gap, self.gap)
        self.gap = 0

    def note_content(self, *, is_new: bool, led_to: Collection[int]) -> None:
        """Count the pages since the last new content. `led_to`: the same counts, for templates elsewhere with new URLs.

        A page has a higher count than the templates it depends on, so two templates that only lead to each other count
        up.
        """
        self.dry = 0 if is_new else min((self.dry, *led_to)) + 1

    @property
    def is_repeated(self) -> bool:
        """True if most pages repeat the content of other pages."""
        return 2 * self.repeats > self.pages

    @property
    def is_uniform(self) -> bool:
        """True if most pages are nearly the same, except for a date or a few words."""
        return 2 * self.similar > self.pages

    @property
    def grows(self) -> bool:
        """True for at least one new URL per page, among the last pages."""
        return self.recent >= 1

    @property
    def is_invented(self) -> bool:
        """True if every page leads to several new ones, none is a leaf, and hardly any link leads to a known page."""
        if self.recent < _WIDE_RATE or self.leaves >= max(_LEAVES, _LEAVES_SHARE * self.pages):
            return False
        return len(self.closing) < max(_CLOSING, min(_MAX_CLOSING, self.added / _CLOSING_SHARE))

    @property
    def _is_one_way(self) -> bool:
        """True if no page leads to more than one new page, and none leads back."""
        return not (self.leads_back or self.fed) and self.added <= self.pages

    def is_growing(self, shape: Shape) -> bool:
        """True for a set whose own pages lead to its URLs and that does not drain."""
        least_gap = _LEAST_GAP_DATED if shape is Shape.DATED else _LEAST_GAP
        return bool(self.added) and self.recent >= _DRAINING and self.gap <= least_gap + _LONGER * self.longest_gap

    def is_suspect(self, shape: Shape) -> bool:
        """True for a growing set with further evidence of a trap, such as dates or invented links."""
        return self.is_growing(shape) and self._weigh(shape) not in (_CHAIN, _ONE_WAY_CHAIN, _BRANCHING)

    def suspicion(self, shape: Shape, *, is_alone: bool = False) -> float:
        """Return 0 for a set that lists name, or that drains or has stopped growing; otherwise a value that rises per
        page.

        Growing templates take turns by it. All of them together therefore cost what the largest finite set needs, and
        templates with more evidence than growth get few turns. `is_alone`: the crawl has no other template of that
        kind.
        """
        if not self.is_growing(shape):
            return 0.0
        free, weight = self._weigh(shape)
        if free and is_alone:
            free = _FREE_IF_ALONE
        pages = self.pages + self.fed
        return float(min(pages, free) + max(0, pages - free) * weight)

    def _weigh(self, shape: Shape) -> tuple[int, float]:
        # The page numbers of a list are not evidence while the list names something.
        if shape is Shape.DATED or (shape is Shape.NUMBERED_LIST and not self.fed):
            return _STRUCTURAL
        if shape is Shape.COMBINED and self.recent >= _WIDE_RATE:
            return _COMBINATIONS
        if self.is_invented:
            return _INVENTED_TOKENS if shape is Shape.TOKEN else _INVENTED
        if self.recent >= _BRANCHING_RATE:
            return _BRANCHING
        return _ONE_WAY_CHAIN if self._is_one_way else _CHAIN


class Yields:
    """Counts how many new URLs of their own template pages led to, in blocks of pages."""

    def __init__(self, blocks: Sequence[int] = (), pages: int = _BLOCK, open_sum: int = 0, open_pages: int = 0) -> None:
        self._blocks = [*blocks]
        self._pages = pages  # pages per block
        self._open_sum, self._open_pages = open_sum, open_pages  # the incomplete last block

    def document(self) -> list[Any]:
        return [self._blocks[:], self._pages, self._open_sum, self._open_pages]

    @staticmethod
    def of(document: Sequence[Any]) -> "Yields":
        return Yields(*document)

    def add(self, yielded: int) -> None:
        self._open_sum += yielded
        self._open_pages += 1
        if self._open_pages < self._pages:
            return
        self._blocks.append(self._open_sum)
        self._open_sum = self._open_pages = 0
        if len(self._blocks) >= _MAX_BLOCKS:
            self._blocks = [sum(self._blocks[at : at + 2]) for at in range(0, len(self._blocks), 2)]
            self._pages *= 2

    @property
    def mean(self) -> float:
        pages = len(self._blocks) * self._pages + self._open_pages
        return (sum(self._blocks) + self._open_sum) / pages if pages else 0.0

    @property
    def slow_down(self) -> bool:
        """True if pages lead to fewer and fewer new ones.

        The second half must yield clearly fewer than the first, and the last quarter fewer than the one before: a grid
        of dates narrows at first, and then leads to one page per page forever.
        """
        half, quarter = len(self._blocks) // 2, len(self._blocks) // 4
        if sum(self._blocks[-half:]) >= _SLOWING * sum(self._blocks[:half]) or half == 0:
            return False
        last, before = sum(self._blocks[-quarter:]), sum(self._blocks[-2 * quarter : -quarter])
        return quarter == 0 or last < max(_SLOWING * before, _DRAINING * quarter * self._pages)


def count_own(name: str, template: str, led_by_name: Sequence[tuple[str, ...]]) -> tuple[int, int]:
    """Return how many URLs of this name a page led to, and how many of them count as its growth.

    Filters lead from one set of parameters to another, so all URLs of the path count.
    """
    own, variants = sum(name in names for names in led_by_name), variants_of(template)
    if variants is None or name not in names_of(template):
        return own, own
    return own, sum(variants in names for names in led_by_name)
