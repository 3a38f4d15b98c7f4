"""Routes of the hostile server about content codings: good ones, broken ones, and bombs of ten gigabytes."""

import functools
import gzip
import zlib
from typing import Any

import brotli
from backports import zstd

from tests.fetch.hostile_pages import Route, stream_body

_OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n"
_MIB = 1024 * 1024
# Costs a browser no layout: what it does with it is about its size only.
_START = b"<title>Bomb</title><p>"
_COMMENT = b"<!--" + b"x" * (65536 - 7) + b"-->"
PAGE = b"<html><head><title>A page</title></head><body><h1>A page </h1><p class=price>9.50</p></body></html>"
SKIPPED_FRAME = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"abcde"


def with_coding(coding: str, body: bytes) -> Route:
    return stream_body(_OK + f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


def zstd_with(body: bytes, **options: Any) -> bytes:
    """As one who streams it: without its length in front."""
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter[name]: value for name, value in options.items()})
    return packer.compress(body) + packer.flush()


def _with_dictionary() -> bytes:
    learned = zstd.train_dict([PAGE + b"%d" % number for number in range(200)], 1000)
    return zstd.compress(PAGE, zstd_dict=learned)


# Each packs a whole page, in a way of its own.
GOOD: dict[str, Route] = {
    "/br": with_coding("br", brotli.compress(PAGE)),
    "/zstd": with_coding("zstd", zstd.compress(PAGE)),
    "/zstd-streamed": with_coding("zstd", zstd_with(PAGE)),
    "/zstd-checked": with_coding("zstd", zstd_with(PAGE, checksum_flag=1)),
    "/zstd-frames": with_coding("zstd", zstd.compress(PAGE[:40]) + zstd.compress(b"") + zstd.compress(PAGE[40:])),
    "/zstd-skipped": with_coding("zstd", SKIPPED_FRAME + zstd.compress(PAGE) + SKIPPED_FRAME),
}
BAD: dict[str, Route] = {
    "/br-corrupt": with_coding("br", b"\xff" * 50),
    "/br-not": with_coding("br", PAGE),
    "/br-trailing": with_coding("br", brotli.compress(PAGE) + b"and more"),
    "/zstd-corrupt": with_coding("zstd", b"\x28\xb5\x2f\xfd\x00\x50" + b"\xff" * 50),
    "/zstd-not": with_coding("zstd", PAGE),
    "/zstd-trailing": with_coding("zstd", zstd.compress(PAGE) + b"and more"),
    "/zstd-dictionary": with_coding("zstd", _with_dictionary()),
    "/zstd-window": with_coding("zstd", zstd_with(PAGE, window_log=27)),
    "/zstd-empty-frames": with_coding("zstd", zstd.compress(b"") * 5000),
    "/zstd-wrong-sum": with_coding("zstd", zstd_with(PAGE, checksum_flag=1)[:-4] + b"nope"),
    "/br-double": with_coding("br, br", brotli.compress(brotli.compress(PAGE))),
    "/br-of-zstd": with_coding("zstd, br", brotli.compress(zstd.compress(PAGE))),
    "/zstd-of-gzip": with_coding("gzip, zstd", zstd.compress(gzip.compress(PAGE))),
    "/unheard-of": with_coding("dcz", zstd.compress(PAGE)),
}
# What Chromium takes all the same: it looks no further than the end, and counts no frames.
LENIENTLY = ("/br-trailing", "/zstd-empty-frames")
CUT: dict[str, Route] = {
    "/br-cut": with_coding("br", brotli.compress(PAGE * 50)[:-20]),
    "/zstd-cut": with_coding("zstd", zstd.compress(PAGE * 50)[:-20]),
    "/zstd-cut-between": with_coding("zstd", zstd.compress(PAGE) + zstd.compress(PAGE)[:3]),
}


# -- bombs: the beginning of a stream, and what adds a megabyte to it as often as it is sent ----------------


def _deflate(window_bits: int) -> tuple[bytes, bytes]:
    packer = zlib.compressobj(9, zlib.DEFLATED, window_bits)
    pieces = [packer.compress(each) + packer.flush(zlib.Z_FULL_FLUSH) for each in _three()]
    return pieces[0] + pieces[1], pieces[2]


def gzip_blocks(block: bytes, times: int) -> bytes:
    """The same block again and again, packed once."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)  # refers to nothing before it
    check, length = 0, len(block) * times
    for _ in range(times):
        check = zlib.crc32(block, check)
    header, nothing_more = b"\x1f\x8b\x08" + b"\0" * 6 + b"\xff", b"\x03\x00"
    return header + packed * times + nothing_more + check.to_bytes(4, "little") + length.to_bytes(4, "little")


def _brotli() -> tuple[bytes, bytes]:
    packer = brotli.Compressor(quality=9)
    pieces = [packer.process(each) + packer.flush() for each in (*_three(), _COMMENT * 16)]
    assert pieces[2] == pieces[3], "the same again, which is what may be sent again"
    return pieces[0] + pieces[1], pieces[2]


def _zstd() -> tuple[bytes, bytes]:
    packer = zstd.ZstdCompressor()
    pieces = [packer.compress(each, zstd.ZstdCompressor.FLUSH_BLOCK) for each in (*_three(), _COMMENT * 16)]
    assert pieces[2] == pieces[3], "the same again, which is what may be sent again"
    return pieces[0] + pieces[1], pieces[2]


def _three() -> tuple[bytes, bytes, bytes]:
    return _START, _COMMENT * 16, _COMMENT * 16


@functools.cache
def bomb_of(coding: str) -> tuple[bytes, bytes]:
    makers = {"gzip": lambda: _deflate(31), "deflate": lambda: _deflate(15), "br": _brotli, "zstd": _zstd}
    return makers[coding]()


def bomb(coding: str, head: bytes = _OK, megabytes: int = 10_000) -> Route:
    async def route(request: Any) -> None:
        first, again = bomb_of(coding)
        many = 100
        whole = head + f"Content-Encoding: {coding}\r\n\r\n".encode() + first
        await stream_body(whole, again * many, megabytes // many)(request)

    return route


_REDIRECT = b"HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: /page\r\n"
BOMBS: dict[str, Route] = {
    **{f"/bomb/{coding}": bomb(coding) for coding in ("gzip", "deflate", "br", "zstd")},
    **{f"/redirect-bomb/{coding}": bomb(coding, _REDIRECT) for coding in ("gzip", "deflate", "br", "zstd")},
    "/bomb/double": with_coding("gzip, gzip", gzip.compress(gzip_blocks(b"x" * _MIB, 100))),
    "/bomb/br-in-zstd": with_coding("br, zstd", zstd.compress(brotli.compress(b"x" * 10 * _MIB))),
}
ROUTES: dict[str, Route] = {**GOOD, **BAD, **CUT, **BOMBS}
