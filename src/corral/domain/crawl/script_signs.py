"""Properties of the scripts of a page, found without running them."""

import re
from typing import NamedTuple

_NUMBER = re.compile(r"\d+")


class ScriptSigns(NamedTuple):
    """The scripts of one page."""

    signature: str  # equal for pages with the same scripts, whatever their data
    inserts: bool = False  # a script of the document, or of another host, could add content
    is_likely: bool = False  # there is data that the page does not show, or an empty element that a script names
    gaps: tuple[str, ...] = ()  # names of empty elements

    def group_of(self, template: str) -> str:
        """Return the name of the pages of a template that have the same empty elements."""
        return " ".join([template, *sorted({_NUMBER.sub("", gap) for gap in self.gaps})])


class ScriptFacts(NamedTuple):
    """Properties found in the text of a script file."""

    loads_more: bool = False
    inserts: bool = False
    names: frozenset[str] = frozenset()  # words in quotes: names of elements, perhaps
