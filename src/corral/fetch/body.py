"""A body put together piece by piece, with every size judged before the next piece is taken."""

import zlib
from typing import Any

from corral.domain.outcome import Failed
from corral.fetch.faults import fault
from corral.fetch.limits import FetchLimits

_STEP_BYTES = 256 * 1024
# An empty gzip member is twenty bytes; without a bound a body could hold half a million of them.
_MAX_MEMBERS = 1000

ACCEPT_ENCODING = "gzip, deflate"


class BodyFault(Exception):
    """Carries the Failed out of the reading loop."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


class BodyFull(Exception):
    """The cap is reached and the caller wants what came before it."""


def content_coding(values: list[str]) -> str | None:
    """The one coding of a body (None for none), or BodyFault where it is unknown or stacked."""
    codings = [part.strip().lower() for value in values for part in value.split(",")]
    codings = [coding for coding in codings if coding not in ("", "identity")]
    if not codings:
        return None
    coding = codings[0].removeprefix("x-")
    if len(codings) > 1 or coding not in ("gzip", "deflate"):
        raise BodyFault(fault("bad_response:encoding", ", ".join(codings)[:100]))
    return coding


class Body:
    """Feed it raw pieces; it decodes them and stops at the caps."""

    def __init__(self, coding: str | None, max_bytes: int, limits: FetchLimits, *, truncate: bool) -> None:
        self._coding = coding
        self._max_bytes = max_bytes
        self._limits = limits
        self._truncate = truncate
        self._inflater: Any = None  # a zlib decompressor; its type has no public name
        self._members = 0
        self._decoded = bytearray()
        self.raw_bytes = 0
        self.truncated = False

    @property
    def decoded_bytes(self) -> int:
        return len(self._decoded)

    def whole(self) -> bytes:
        return bytes(self._decoded)

    def feed(self, piece: bytes | memoryview) -> None:
        self.raw_bytes += len(piece)
        if self._coding is None:
            self._take(piece)
        else:
            self._inflate(bytes(piece))
        if self.raw_bytes > self._max_bytes:
            self._overflow()

    def finish(self) -> bytes:
        is_open = self._inflater is None or not self._inflater.eof
        # An empty body needs no coding; anything else must end where its format says.
        if self._coding is not None and self.raw_bytes and is_open:
            raise BodyFault(fault("network:incomplete", "the compressed stream is cut short"))
        return self.whole()

    def _take(self, piece: bytes | memoryview) -> None:
        room = self._max_bytes - len(self._decoded)
        if len(piece) > room:
            self._decoded += piece[:room]
            self._overflow()
        self._decoded += piece
        self._check_ratio()

    def _check_ratio(self) -> None:
        limits = self._limits
        if self._coding is None or len(self._decoded) <= limits.ratio_from_bytes:
            return
        if len(self._decoded) > limits.max_ratio * self.raw_bytes:
            raise BodyFault(self._too_large(f"it grows more than {limits.max_ratio} times when unpacked"))

    def _overflow(self) -> None:
        if self._truncate:
            self.truncated = True
            raise BodyFull
        raise BodyFault(self._too_large(f"more than {self._max_bytes} bytes"))

    def _too_large(self, why: str) -> Failed:
        ratio = round(len(self._decoded) / max(self.raw_bytes, 1), 1)
        return fault(
            "limit:body_too_large",
            why,
            decoded_bytes=len(self._decoded),
            raw_bytes=self.raw_bytes,
            ratio=ratio,
        )

    def _inflate(self, data: bytes) -> None:
        try:
            while data:
                if (self._inflater is None or self._inflater.eof) and not self._next_member(data):
                    return
                self._take(self._inflater.decompress(data, _STEP_BYTES))
                data = self._inflater.unconsumed_tail or self._inflater.unused_data
            # Output may wait inside after the input is used up.
            while self._inflater is not None and not self._inflater.eof:
                rest = self._inflater.decompress(b"", _STEP_BYTES)
                if not rest:
                    return
                self._take(rest)
        except zlib.error:
            raise BodyFault(fault("bad_response:encoding", "the compressed stream is corrupt")) from None

    def _next_member(self, data: bytes) -> bool:
        """Start on the next stream; False where what follows a finished one is padding, ignored."""
        is_first = self._inflater is None
        if self._coding == "deflate":
            if not is_first:
                return False
            # Servers send both zlib streams and bare ones under this name; the first byte tells them apart.
            is_zlib = data[0] & 0x0F == 8 and data[0] >> 4 <= 7
            self._inflater = zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
            return True
        if not is_first and not data.startswith(b"\x1f"):
            return False
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise BodyFault(fault("bad_response:encoding", "too many compressed members"))
        self._inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
        return True
