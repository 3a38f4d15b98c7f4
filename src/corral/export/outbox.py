"""A buffer for writers; the stream drains it regularly, so that it stays small."""

import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Outbox(io.RawIOBase):
    """A file that can be written and told, not read or rewound: what suits it suits a socket."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._told = 0
        self.size = 0  # of what waits

    def writable(self) -> bool:
        return True

    def write(self, data: "Buffer") -> int:
        part = bytes(data)
        self._parts.append(part)
        self._told += len(part)
        self.size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._told

    def take(self) -> bytes:
        parts, self._parts, self.size = self._parts, [], 0
        return b"".join(parts)


class Writer(Protocol):
    """A writer of one format. It may buffer records, and writes the rest to the outbox at the end."""

    def add(self, records: Iterable[Mapping[str, Any]]) -> int:
        """How many of them were written."""
        ...

    def end(self) -> None: ...
