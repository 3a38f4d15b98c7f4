"""What fields are looked for in: a document, or a part of it."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from corral.domain.fields.spec import FieldSpec
from corral.extract.names.found import FoundValue


class Source(Protocol):
    def find(self, name: str) -> Sequence[FoundValue]:
        """What it says about itself under this name, the best first."""
        ...

    def find_one(self, name: str) -> FoundValue | None:
        """The same for a field that takes one value: several authors are one text."""
        ...

    def find_values(self, spec: FieldSpec) -> Iterator[Any]:
        """What is where the recipe says to look; without a selector, its text or its own attribute."""
        ...

    def find_parts(self, spec: FieldSpec) -> "Sequence[Source]":
        """What the selector matches, each to be looked for fields in; without a selector, itself."""
        ...

    def count(self, spec: FieldSpec) -> int:
        """How many elements, or values, its selector matches."""
        ...

    def absolute(self, reference: str) -> str: ...

    def can_be_searched(self) -> bool:
        """Whether it has a tree for XPath. Made at the first time: it is the document's time, not that of a field."""
        ...

    @property
    def language(self) -> str | None:
        """The language it says it is in."""
        ...
