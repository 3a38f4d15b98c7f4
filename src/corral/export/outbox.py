"""A buffer for writers; the stream drains it regularly, so that it stays small."""

import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Outbox(io.RawIOBase):
    """A write-only file that reports its position but cannot be read or rewound, like a socket."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._position = 0
        self.size = 0  # bytes that have not been taken

    def writable(self) -> bool:
        return True

    def write(self, data: "Buffer") -> int:
        part = bytes(data)
        self._parts.append(part)
        self._position += len(part)
        self.size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._position

    def take(self) -> bytes:
        parts, self._parts, self.size = self._parts, [], 0
        return b"".join(parts)


class Writer(Protocol):
    """A writer of one format. It may buffer records, and writes the rest to the outbox at the end."""

    def add(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Add records; return how many of them the format could hold."""
        ...

    def end(self) -> None: ...
