"""The counts of one template of a crawl. template_budget updates them, template_growth judges its growth."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from corral.domain.crawl.fingerprint import WordMemory
from corral.domain.crawl.template_growth import Shape, Spread, Yields
from corral.domain.crawl.traps import has_token, is_numbered_list

_KEPT_WORDS = 256


@dataclass(slots=True)
class TemplateTally:
    """The counts of one name (`traps.names_of`) of a crawl. Its size is bounded, and so is its document."""

    admitted: int = 0  # addresses with a query that were let in, less those that were worth it
    barren: int = 0  # pages that brought nothing new, less some for each that did
    prints: list[int] = field(default_factory=list)  # of different contents, the last seen last
    words: dict[int, None] = field(default_factory=dict)  # the oldest first
    tried: int = 0  # barren pages
    waiting: int = 0  # addresses of its own kind that those led to, less the pages themselves
    peak: int = 0  # the most of them that ever waited
    grown: int = 0  # barren pages until the last peak
    yields: Yields = field(default_factory=Yields)
    extensions: int = 0  # times its limit was doubled because it slowed down
    is_endless: bool = False
    is_dated: bool = False
    query: str | None = None  # of a path with queries: the names of the parameters, empty where they differ
    spread: Spread = field(default_factory=Spread)
    memory: WordMemory | None = None  # of a folder or of a path with queries; learned again after a restart

    def document(self) -> list[Any]:
        words = [*self.words][-_KEPT_WORDS:]
        growth = [self.tried, self.waiting, self.peak, self.grown, self.yields.document(), self.extensions]
        flags = [int(self.is_endless), int(self.is_dated), self.query]
        return [self.admitted, self.barren, self.prints[:], words, *growth, *flags, self.spread.document()]

    @staticmethod
    def of(document: Sequence[Any]) -> "TemplateTally":
        if len(document) != 14:
            return TemplateTally()  # as an earlier version wrote it: it is learned again
        admitted, barren, prints, words, tried, waiting, peak, grown, yields, extensions, *flags, spread = document
        tally = TemplateTally(admitted, barren, [*prints], dict.fromkeys(words), tried, waiting, peak, grown)
        tally.yields, tally.extensions = Yields.of(yields), extensions
        tally.is_endless, tally.is_dated, tally.query = bool(flags[0]), bool(flags[1]), flags[2]
        tally.spread = Spread.of(spread)
        return tally

    @property
    def is_combined(self) -> bool:
        """True for URLs with several parameters, whose combinations are all URLs."""
        return self.query is not None and (not self.query or "&" in self.query)

    def note_query(self, template: str) -> None:
        query = template.partition("?")[2]
        if query and self.query != query:
            self.query = query if self.query is None else ""

    def suspicion(self, name: str, *, is_alone: bool) -> float:
        return self.spread.suspicion(self._shape(name), is_alone=is_alone)

    def is_suspect(self, name: str) -> bool:
        return self.spread.is_suspect(self._shape(name))

    def is_empty_list(self, name: str) -> bool:
        """True for numbered list pages that repeat each other: an empty list."""
        return self.spread.is_repeated and self._shape(name) is Shape.NUMBERED_LIST

    def _shape(self, name: str) -> Shape:
        if self.is_dated:
            return Shape.DATED
        if is_numbered_list(f"?{self.query}" if self.query else name):
            return Shape.NUMBERED_LIST
        if self.is_combined:
            return Shape.COMBINED
        return Shape.TOKEN if has_token(name) else Shape.PLAIN
