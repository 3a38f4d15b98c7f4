"""The counts of one template of a crawl. `budget` updates them, `growth` judges its growth."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from corral.domain.crawl.templates.fingerprint import NUMBERS_FROM, WordMemory, is_near
from corral.domain.crawl.templates.growth import Shape, Spread, Yields
from corral.domain.crawl.templates.traps import has_token, is_numbered_list

_MAX_STORED_WORDS = 256
_SOME_NUMBERS = 3
_WORDS_FOR_ONE = 30


@dataclass(frozen=True, slots=True)
class TrapLimits:
    query_variants: int = 500  # URLs of one path that differ only in the query, before more of them are deferred
    barren_pages: int = 12  # pages without new content that make a template starved
    barren_growing: int = 4  # the same, if each of these pages leads to further ones
    templates: int = 500  # templates to remember; the least recently used is forgotten first
    prints: int = 8  # fingerprints to remember per template
    words: int = 256  # words to remember per template
    # How many barren pages of a template may be fetched while it keeps growing.
    chain: int = 620  # each page leads to one more, as in long galleries and archives
    chain_alone: int = 920  # the same, if nothing else is suspected
    branching: int = 300  # each page leads to several more, at an undiminished rate
    branching_found: int = 1_840  # or until those pages have led to this many
    combined: int = 300  # several parameters in all combinations
    dated: int = 250  # calendars whose pages repeat each other; other calendars have the limit of a chain
    numbered: int = 200  # a chain of numbered list pages that are all the same, if there are other suspects
    # Once the other suspects together, without chains, have grown for this many pages, a name gets only its minimum.
    others: int = 100
    least_branching: int = 64
    least_branching_found: int = 640
    least_repeated_found: int = 400  # if all pages have the same content
    least: int = 32
    # The limits apply to crawls of this many pages, and rise with larger ones.
    pages: int = 5_000
    # Pages with new words under a name whose links look invented, before its other URLs are deferred.
    invented: int = 100


@dataclass(slots=True)
class TemplateTally:
    """The counts of one name (`traps.names_of`) of a crawl. Its size and its document are bounded."""

    admitted: int = 0  # admitted URLs with a query, minus those that had new content
    barren: int = 0  # pages without new content, minus some for each page with new content
    prints: list[int] = field(default_factory=list)  # of different contents, the most recent last
    words: dict[int, None] = field(default_factory=dict)  # oldest first
    tried: int = 0  # barren pages
    waiting: int = 0  # URLs of its own kind that those pages led to, minus the pages themselves
    peak: int = 0  # the maximum of `waiting`
    grown: int = 0  # barren pages up to the last peak
    yields: Yields = field(default_factory=Yields)
    extensions: int = 0  # how often its limit was doubled because its growth slowed down
    is_endless: bool = False
    is_dated: bool = False
    query: str | None = None  # for a path with queries: the parameter names, empty if they differ
    spread: Spread = field(default_factory=Spread)
    memory: WordMemory | None = None  # for a folder or a path with queries; learned again after a restart

    def document(self) -> list[Any]:
        words = [*self.words][-_MAX_STORED_WORDS:]
        growth = [self.tried, self.waiting, self.peak, self.grown, self.yields.document(), self.extensions]
        flags = [int(self.is_endless), int(self.is_dated), self.query]
        return [self.admitted, self.barren, self.prints[:], words, *growth, *flags, self.spread.document()]

    @staticmethod
    def of(document: Sequence[Any]) -> "TemplateTally":
        if len(document) != 14:
            return TemplateTally()  # in the format of an earlier version: it is learned again
        admitted, barren, prints, words, tried, waiting, peak, grown, yields, extensions, *flags, spread = document
        tally = TemplateTally(admitted, barren, [*prints], dict.fromkeys(words), tried, waiting, peak, grown)
        tally.yields, tally.extensions = Yields.of(yields), extensions
        tally.is_endless, tally.is_dated, tally.query = bool(flags[0]), bool(flags[1]), flags[2]
        tally.spread = Spread.of(spread)
        return tally

    @property
    def is_combined(self) -> bool:
        """True for URLs with several parameters, any combination of which is a URL."""
        return self.query is not None and (not self.query or "&" in self.query)

    def is_new_print(self, print_: int, max_prints: int) -> bool:
        """Remember a fingerprint; return True if no remembered one is similar."""
        near = next((each for each in reversed(self.prints) if is_near(each, print_)), None)
        if near is not None:
            # Move it to the end: a fingerprint that repeats must not be forgotten.
            self.prints.remove(near)
            self.prints.append(near)
            return False
        self.prints.append(print_)
        del self.prints[:-max_prints]
        return True

    def add_words(self, words: Sequence[int], max_words: int, *, is_template: bool) -> list[int]:
        """Remember the words of a page; return those that are new to this name."""
        if not is_template:
            if self.memory is None:
                self.memory = WordMemory()
            return self.memory.add(words)
        unseen = [word for word in words if word not in self.words]
        self.words.update(dict.fromkeys(unseen))
        while len(self.words) > max_words:
            # A forgotten word counts as new again, which costs a page instead of losing one.
            del self.words[next(iter(self.words))]
        return unseen

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


def has_new_word(words: Sequence[int], unseen: Sequence[int], *, is_template: bool) -> bool:
    """Return whether a page has new content: one new word is enough, because it may be a name, or several new numbers.

    A long text in a folder needs more than one new word: mazes combine the words they know at random.
    """
    numbers = sum(word >= NUMBERS_FROM for word in unseen)
    least = 0 if is_template else len(words) // _WORDS_FOR_ONE
    return len(unseen) - numbers > least or numbers >= _SOME_NUMBERS or not words
