"""The interface of a document, or of a part of one, in which fields are found."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from corral.domain.fields.spec import FieldSpec
from corral.extract.names.found import FoundValue


class Source(Protocol):
    def find(self, name: str) -> Sequence[FoundValue]:
        """Return the values for a bare name, the best first."""
        ...

    def find_one(self, name: str) -> FoundValue | None:
        """Return the value for a field that takes one: several authors are joined to one text."""
        ...

    def find_values(self, spec: FieldSpec) -> Iterator[Any]:
        """Yield what the selector of the recipe matches; without a selector, the text or an attribute of the source."""
        ...

    def find_parts(self, spec: FieldSpec) -> "Sequence[Source]":
        """Return what the selector matches, each as a source of fields; without a selector, the source itself."""
        ...

    def count(self, spec: FieldSpec) -> int:
        """Return how many elements or values the selector matches."""
        ...

    def absolute(self, reference: str) -> str: ...

    def can_be_searched(self) -> bool:
        """Return whether the source has a tree for XPath.

        The first call builds the tree, outside the time limit of a single selector.
        """
        ...

    @property
    def language(self) -> str | None:
        """The language that the document declares."""
        ...
