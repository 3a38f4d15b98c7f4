"""Read the pipes of a script: tails, artifacts, lines and the budget of bytes."""

import asyncio
import os
from collections.abc import Callable
from typing import Protocol

from corral.domain.scripts.protocol import MAX_LINE_BYTES

_CHUNK_BYTES = 256 * 1024
TAIL_BYTES = 8 * 1024


class LineReader(Protocol):
    def __call__(self, line: bytes, *, is_cut: bool = False) -> None: ...


class LineSplitter:
    """Splits chunks into lines. Of a line that is too long, it passes on only the beginning, marked as cut."""

    def __init__(self, read_line: LineReader) -> None:
        self._read_line = read_line
        self._rest = bytearray()
        self._is_skipping = False

    def feed(self, chunk: bytes) -> None:
        first, newline, more = chunk.partition(b"\n")
        self._extend(first)
        if not newline:
            return
        self._end_line()
        *lines, rest = more.split(b"\n")
        for line in lines:
            if len(line) > MAX_LINE_BYTES:
                self._read_line(line[:MAX_LINE_BYTES], is_cut=True)
            else:
                self._read_line(line + b"\n")
        self._extend(rest)

    def _extend(self, part: bytes) -> None:
        if self._is_skipping:
            return
        self._rest += part
        if len(self._rest) > MAX_LINE_BYTES:
            self._read_line(bytes(self._rest[:MAX_LINE_BYTES]), is_cut=True)
            self._rest.clear()
            self._is_skipping = True

    def _end_line(self) -> None:
        if not self._is_skipping:
            self._read_line(bytes(self._rest) + b"\n")
        self._rest.clear()
        self._is_skipping = False

    def finish(self) -> None:
        """Pass on a last line without a newline."""
        if self._rest and not self._is_skipping:
            self._read_line(bytes(self._rest))
        self._rest.clear()


class Tail:
    """The last bytes of a stream, and how many there were."""

    def __init__(self, max_bytes: int = TAIL_BYTES) -> None:
        self._max_bytes = max_bytes
        self._end = b""
        self.bytes = 0

    def feed(self, chunk: bytes) -> None:
        self.bytes += len(chunk)
        self._end = (
            chunk[-self._max_bytes :] if len(chunk) >= self._max_bytes else (self._end + chunk)[-self._max_bytes :]
        )

    def text(self) -> str:
        text = self._end.decode("utf-8", "replace")
        # The first bytes may be the rest of a character that was cut.
        return text.lstrip("\ufffd") if self.bytes > self._max_bytes else text


class PipeReader:
    """Reads a pipe on the event loop until its end, and then sets `ended`."""

    def __init__(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._take = take
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK_BYTES)
            if chunk:
                self._take(chunk)
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        except Exception as error:  # noqa: BLE001 - a bug in a reader belongs to its run
            self._end(error)
            return
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        if not self.ended.done():
            if error is None:
                self.ended.set_result(None)
            else:
                self.ended.set_exception(error)

    def close(self) -> None:
        if not self.ended.done():
            self._end(None)
