"""Find the values of a page for a bare name, the best first, each with its source and its confidence.

The sources are searched in this order: the main entity (JSON-LD, microdata, RDFa, microformats); other entities that
describe the same thing or the page; meta elements; labels with values; heuristics over elements; an element whose id or
class is the name. Each is read at most once, when the first name needs it.
"""

from itertools import islice

from corral.extract.names.candidates import NameCandidate, rate_candidates
from corral.extract.names.found import EVERY, MAX_VALUES, FoundValue
from corral.extract.names.keys import canonical, markup_words
from corral.extract.names.ordinary import GUESSES, find_candidates
from corral.extract.names.page_sources import PageSources
from corral.extract.names.shapes import shape
from corral.extract.names.special import SPECIAL
from corral.extract.names.words.text import plain
from corral.extract.page import Page

# Names with several values, and the separator that joins them for a field that takes one text.
JOINED = {
    "author": ", ",
    "tags": ", ",
    "category": ", ",
    "performer": ", ",
    "organizer": ", ",
    "employment_type": ", ",
    "breadcrumbs": " > ",
    "ingredients": "\n",
    "instructions": "\n",
}
_ATTRIBUTES = {"links": "href", "images": "src"}
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))

# Synonyms of `title` that mean the name of the subject of the page.
_OF_THINGS = frozenset(("name", "productname", "producttitle", "itemname", "recipename", "eventname"))


_TITLES = frozenset(("title", "name", "headline"))


class NamedValues:
    def __init__(self, page: Page, url: str = "") -> None:
        self._page = page
        self._sources = PageSources(page, url)

    def find(self, name: str) -> tuple[FoundValue, ...]:
        """Return all values of the best source."""
        canonical_name, key = canonical(name), plain(name)
        if not key:
            return ()
        if canonical_name in EVERY or canonical_name in _HEADINGS:
            return self._every(EVERY.get(canonical_name, canonical_name), _ATTRIBUTES.get(canonical_name))
        special = SPECIAL.get(canonical_name) if not self._has_property(key, canonical_name) else None
        candidates = (
            list(special(self._sources)) if special is not None else find_candidates(self._sources, canonical_name, key)
        )
        # A <title> alone names the page, not a thing on it: the shell of an application has one, too.
        if key in _OF_THINGS and all(each.source == "html:title" for each in candidates):
            candidates = []
        return rate_candidates(candidates)[:MAX_VALUES] or self._by_markup(name)

    def find_one(self, name: str) -> FoundValue | None:
        """Return the value for a field that takes one: the first, or all joined if the name has several values."""
        found = self.find(name)
        if not found:
            return None
        separator = JOINED.get(canonical(name))
        if separator is None or len(found) == 1:
            return found[0]
        return FoundValue(separator.join(entry.value for entry in found), found[0].source, found[0].confidence)

    def _has_property(self, key: str, canonical_name: str) -> bool:
        """Return whether a synonym is a property of its own: `jobTitle` of a person is not the person's name."""
        main = self._sources.subjects.main if key != canonical_name and key not in _TITLES else None
        return main is not None and bool(main.first(key))

    def _every(self, selector: str, attr: str | None) -> tuple[FoundValue, ...]:
        found = (self._page.value_of(node, attr) for node in self._page.by_css(selector))
        values = tuple(islice((value for value in found if value), MAX_VALUES))
        return rate_candidates([NameCandidate(values, f"html:{selector}")]) if values else ()

    def _by_markup(self, name: str) -> tuple[FoundValue, ...]:
        """Return the text of elements whose id or class is the name."""
        words = markup_words(name) if canonical(name) not in GUESSES else []
        selector = ", ".join(f"#{word}, .{word}" for word in words)
        nodes = self._page.by_css(selector) if selector else []
        found = (self._page.value_of(node, None) for node in nodes)
        values = shape(canonical(name), list(islice((value for value in found if value), MAX_VALUES)))
        return rate_candidates([NameCandidate(values, f"markup:{words[0]}")]) if values else ()
