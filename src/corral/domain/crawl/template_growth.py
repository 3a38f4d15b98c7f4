"""How many new addresses of its own kind the pages of a template lead to.

Growth decides twice: deferred addresses of templates that do not grow come before those of templates that do, and a
template that never stops growing is a trap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_BLOCK = 8  # pages whose yields are added up before they are compared
_MAX_BLOCKS = 128
_SLOWING = 0.93  # a set whose pages yield this much less in their second half is about to drain

# Many finite sets are chains (one new address per page), few keep branching: the rate counts more than the number of
# pages. Beyond the highest rate, a set with many links between its pages looks like a maze at first.
_RATE_EXPONENT = 1.5
_HIGHEST_RATE = 3.0
_DATED = 4.0
_COMBINED = 2.0
_REPEATED = 2.0
# Pages without a new address until a set counts as drained. Calendars name a whole month at once, and nothing new on
# the pages of its days: the gap has to be longer than those before it.
_LEAST_GAP = 8
_LEAST_GAP_DATED = 31
_LONGER = 2


@dataclass(slots=True)
class Spread:
    """What the pages of one template add to the template itself."""

    pages: int = 0
    added: int = 0  # new addresses of the same template
    repeats: int = 0  # pages with a content that another page of the crawl had before
    gap: int = 0  # pages since the last one that added anything
    longest_gap: int = 0  # between two pages that did

    def document(self) -> list[int]:
        return [self.pages, self.added, self.repeats, self.gap, self.longest_gap]

    @staticmethod
    def of(document: Sequence[int]) -> "Spread":
        return Spread(*document)

    def add(self, added: int, *, is_again: bool) -> None:
        self.pages += 1
        self.added += added
        self.repeats += is_again
        if not added:
            self.gap += 1
            return
        if self.added > added:
            self.longest_gap = max(self.longest_gap, self.gap)
        self.gap = 0

    @property
    def is_repeated(self) -> bool:
        """Most pages say what other pages said before."""
        return 2 * self.repeats > self.pages

    def suspicion(self, *, is_dated: bool, is_combined: bool) -> float:
        """0 for a set that lists name, and for one that stopped growing; else it rises with every page.

        Templates that grow take turns by it: a chain may be a gallery or an endless list, and no evidence tells them
        apart before the gallery ends.
        """
        least_gap = _LEAST_GAP_DATED if is_dated else _LEAST_GAP
        if not self.added or self.gap > least_gap + _LONGER * self.longest_gap:
            return 0.0
        weight = (_DATED if is_dated else 1.0) * (_COMBINED if is_combined else 1.0)
        weight *= _REPEATED if self.is_repeated else 1.0
        rate = min(self.added / self.pages, _HIGHEST_RATE)
        return float(self.pages * rate**_RATE_EXPONENT * weight)


class Yields:
    """How many new addresses of their own kind pages led to, a block of pages at a time."""

    def __init__(self, blocks: Sequence[int] = (), pages: int = _BLOCK, open_sum: int = 0, open_pages: int = 0) -> None:
        self._blocks = [*blocks]
        self._pages = pages  # in a block
        self._open_sum, self._open_pages = open_sum, open_pages  # of the block that is not full yet

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
        """The second half of the pages led to clearly fewer new ones than the first half."""
        half = len(self._blocks) // 2
        return half > 0 and sum(self._blocks[-half:]) < _SLOWING * sum(self._blocks[:half])
