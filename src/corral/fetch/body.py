"""Read a body piece by piece and check all size limits before the next piece."""

from collections.abc import Iterator

from corral.domain.runs.outcome import Failed
from corral.fetch.codings import CODINGS, Corrupt, Unpacker, unpacker
from corral.fetch.faults import fault
from corral.fetch.limits import FetchLimits

_OLD_NAMES = {"x-gzip": "gzip", "x-deflate": "deflate"}


class BodyFault(Exception):
    """Raised to carry a Failed out of the reading loop."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


class BodyFull(Exception):
    """Raised at the size limit if the caller accepts a truncated body."""


def content_coding(values: list[str]) -> str | None:
    """Return the content coding of a body, or None; raise BodyFault if it is unknown or stacked."""
    codings = [part.strip().lower() for value in values for part in value.split(",")]
    codings = [coding for coding in codings if coding not in ("", "identity")]
    if not codings:
        return None
    coding = _OLD_NAMES.get(codings[0], codings[0])
    if len(codings) > 1 or coding not in CODINGS:
        raise BodyFault(fault("bad_response:encoding", ", ".join(codings)[:100]))
    return coding


class Body:
    """Decodes raw pieces and stops at the limits."""

    def __init__(self, coding: str | None, max_bytes: int, limits: FetchLimits, *, truncate: bool) -> None:
        self._max_bytes = max_bytes
        self._limits = limits
        self._truncate = truncate
        self._unpacker: Unpacker | None = None if coding is None else unpacker(coding)
        self._decoded = bytearray()
        self.raw_bytes = 0
        self.truncated = False

    @property
    def size(self) -> int:
        """The bytes after decompression, so far."""
        return len(self._decoded)

    def whole(self) -> bytes:
        return bytes(self._decoded)

    def feed(self, piece: bytes | memoryview) -> None:
        for _ in self.feed_in_steps(piece):
            pass

    def feed_in_steps(self, piece: bytes | memoryview) -> Iterator[None]:
        """Decode a piece and yield between two steps: a small piece may unpack to megabytes."""
        self.raw_bytes += len(piece)
        if self._unpacker is None:
            self._take(piece)
        else:
            yield from self._unpack(self._unpacker, bytes(piece))
        if self.raw_bytes > self._max_bytes:
            self._overflow()

    def finish(self) -> None:
        # An empty body may lack its coding; any other body must be complete.
        if self._unpacker is not None and self.raw_bytes and not self._unpacker.is_whole:
            raise BodyFault(fault("network:incomplete", "the compressed stream is cut short"))
        self._unpacker = None  # free its window, which may be larger than the page

    def _unpack(self, source: Unpacker, data: bytes) -> Iterator[None]:
        try:
            for number, step in enumerate(source.unpack(data)):
                if number:
                    yield
                self._take(step)
        except Corrupt as problem:
            raise BodyFault(fault("bad_response:encoding", str(problem))) from None

    def _take(self, piece: bytes | memoryview) -> None:
        room = self._max_bytes - len(self._decoded)
        if len(piece) > room:
            self._decoded += piece[:room]
            self._overflow()
        self._decoded += piece
        if self._unpacker is not None:
            self._check_ratio()

    def _check_ratio(self) -> None:
        limits = self._limits
        if self._unpacker is None or len(self._decoded) <= limits.ratio_from_bytes:
            return
        if len(self._decoded) > limits.max_ratio * self._unpacked_bytes:
            raise BodyFault(self._too_large(f"it grows more than {limits.max_ratio} times when unpacked"))

    @property
    def _unpacked_bytes(self) -> int:
        """The raw bytes decoded so far, without the unused rest of a piece: a bomb may arrive in one piece."""
        return self.raw_bytes - (0 if self._unpacker is None else self._unpacker.unused)

    def _overflow(self) -> None:
        if self._truncate:
            self.truncated = True
            raise BodyFull
        raise BodyFault(self._too_large(f"more than {self._max_bytes} bytes"))

    def _too_large(self, why: str) -> Failed:
        ratio = round(len(self._decoded) / max(self._unpacked_bytes, 1), 1)
        return fault(
            "limit:body_too_large",
            why,
            decoded_bytes=len(self._decoded),
            raw_bytes=self.raw_bytes,
            ratio=ratio,
        )
