"""The payload of a run: a JSON document that each kind of run reads as its own type."""

from collections.abc import Mapping
from typing import Any, Protocol, Self, TypeVar


class TypedPayload(Protocol):
    """The options of one kind of run. `document` returns what `parse` reads."""

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self: ...

    def document(self) -> dict[str, Any]: ...


P = TypeVar("P", bound=TypedPayload)


class Payload:
    """The document as stored. It is parsed at first use: most runs of a list are never parsed."""

    __slots__ = ("_document", "_parsed")

    def __init__(self, document: Mapping[str, Any] | None, parsed: TypedPayload | None = None) -> None:
        self._document = document
        self._parsed = parsed

    @classmethod
    def of(cls, typed: TypedPayload) -> "Payload":
        return cls(None, typed)

    def read(self, form: type[P]) -> P:
        """Return the options as `form`, parsed once."""
        parsed = self._parsed
        if not isinstance(parsed, form):
            parsed = form.parse(self._read_document())
            self._parsed = parsed
        return parsed

    def document(self) -> dict[str, Any]:
        return dict(self._read_document())

    def _read_document(self) -> Mapping[str, Any]:
        """Return the document, written at first use: a crawled page is fetched in the process that made its payload."""
        if self._document is None:
            assert self._parsed is not None
            self._document = self._parsed.document()
        return self._document

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Payload) and self.document() == other.document()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Payload({sorted(self.document())})"  # without values: a URL may carry a secret
