"""The supported content codings, each decoded in bounded steps. `body` checks the limits."""

import sys
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CODINGS = ("gzip", "deflate", "br", "zstd")
ACCEPT_ENCODING = ", ".join(CODINGS)

_STEP_BYTES = 256 * 1024
# An empty gzip member has twenty bytes; without a limit a body could hold half a million of them.
_MAX_MEMBERS = 1000
# RFC 9659: no sender may need more than 8 MB. Brotli's own bound is 16 MiB.
_ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}


class Corrupt(Exception):
    """The data does not match its coding. The message says why."""


class Unpacker(Protocol):
    @property
    def is_whole(self) -> bool:
        """True if the stream is complete."""
        ...

    @property
    def unused(self) -> int:
        """The bytes of the latest piece that are not decoded yet, if the decoder reports them."""
        ...

    def unpack(self, data: bytes) -> Iterator[bytes]:
        """Decode the next piece in steps, or raise Corrupt. A caller that stops wastes at most one step."""
        ...


class _Zlib:
    """gzip with any number of members, and deflate, which has one."""

    def __init__(self, coding: str) -> None:
        self._is_gzip = coding == "gzip"
        self._inflater: Any = None  # a zlib decompressor; its type has no public name
        self._members = 0

    @property
    def is_whole(self) -> bool:
        return self._inflater is not None and self._inflater.eof

    @property
    def unused(self) -> int:
        return 0 if self._inflater is None else len(self._inflater.unconsumed_tail)

    def unpack(self, data: bytes) -> Iterator[bytes]:
        try:
            while data:
                if (self._inflater is None or self._inflater.eof) and not self._next_member(data):
                    return
                yield self._inflater.decompress(data, _STEP_BYTES)
                data = self._inflater.unconsumed_tail or self._inflater.unused_data
            # The decoder may hold output after the input is used up.
            while not self.is_whole and self._inflater and (rest := self._inflater.decompress(b"", _STEP_BYTES)):
                yield rest
        except zlib.error:
            raise Corrupt("the compressed stream is corrupt") from None

    def _next_member(self, data: bytes) -> bool:
        """Start the next stream; False if only padding follows, which is ignored."""
        is_first = self._inflater is None
        if not self._is_gzip:
            if is_first:
                # Servers send both zlib streams and bare ones under this name; the first byte tells them apart.
                is_zlib = data[0] & 0x0F == 8 and data[0] >> 4 <= 7
                self._inflater = zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
            return is_first
        if not is_first and not data.startswith(b"\x1f"):
            return False
        self._members = _count_member(self._members)
        self._inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
        return True


class _Brotli:
    unused = 0  # the decoder does not report it

    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()

    @property
    def is_whole(self) -> bool:
        return bool(self._decoder.is_finished())

    def unpack(self, data: bytes) -> Iterator[bytes]:
        try:
            while True:
                # The decoder refuses data after the end: unlike gzip, brotli is never padded.
                step = self._decoder.process(data, output_buffer_limit=_STEP_BYTES)
                yield step
                data = b""  # the decoder keeps its unused input
                if self._decoder.is_finished() or (not step and self._decoder.can_accept_more_data()):
                    return
        except brotli.error:
            raise Corrupt("the compressed stream is corrupt") from None


class _Zstd:
    """zstd with any number of frames; skippable frames hold no data. Dictionaries are not supported."""

    unused = 0  # the decoder does not report it

    def __init__(self) -> None:
        self._frame = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
        self._members = 1

    @property
    def is_whole(self) -> bool:
        return self._frame.eof

    def unpack(self, data: bytes) -> Iterator[bytes]:
        try:
            while data or not (self._frame.needs_input or self._frame.eof):
                if self._frame.eof:
                    self._members = _count_member(self._members)
                    self._frame = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
                yield self._frame.decompress(data, _STEP_BYTES)
                data = self._frame.unused_data if self._frame.eof else b""  # the decoder keeps its unused input
        except zstd.ZstdError:
            raise Corrupt("the compressed stream is corrupt, or needs a dictionary or too much memory") from None


def unpacker(coding: str) -> Unpacker:
    """Return a decoder for one of `CODINGS`."""
    if coding == "br":
        return _Brotli()
    return _Zstd() if coding == "zstd" else _Zlib(coding)


def _count_member(members: int) -> int:
    if members >= _MAX_MEMBERS:
        raise Corrupt("too many compressed members")
    return members + 1
