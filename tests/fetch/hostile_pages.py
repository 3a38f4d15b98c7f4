"""The longer routes of the hostile server: bombs, endless answers, pages too large to read, odd character sets."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fetch.hostile import Request

Route = Callable[["Request"], Awaitable[None]]
_OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n"
_MIB = 1024 * 1024
# Costs a browser no layout: what it does with it is about its size only.
_START = b"<title>Bomb</title><p>"
_COMMENT = b"<!--" + b"x" * (65536 - 7) + b"-->"


def stream_body(
    first: bytes, again: bytes = b"", times: int = 1_000_000, pause_s: float = 0.0, end: bytes = b""
) -> Route:
    """`first`, then `again` and again."""

    async def route(request: "Request") -> None:
        await request.send(first)
        for _ in range(times if again else 0):
            await request.send(again)
            await asyncio.sleep(pause_s)
        await request.send(end)

    return route


def html(body: bytes, content_type: str = "text/html") -> Route:
    async def route(request: "Request") -> None:
        await request.answer(body, f"Content-Type: {content_type}")

    return route


def build_later(body: Callable[[], bytes]) -> Route:
    """For bodies of megabytes, which most tests never ask for."""
    once = functools.cache(body)

    async def route(request: "Request") -> None:
        await html(once())(request)

    return route


# -- bombs -----------------------------------------------------------------------------------------------


BOMBS: dict[str, Route] = {
    "/bomb/plain": stream_body(_OK + b"\r\n" + _START, _COMMENT, 160_000),
    "/bomb/announced": stream_body(_OK + b"Content-Length: 10000000000\r\n\r\n", _COMMENT, 160_000),
    "/bomb/chunked": stream_body(
        _OK + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + _COMMENT + b"\r\n", 160_000
    ),
}

# -- answers without an end ------------------------------------------------------------------------------

_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
ENDLESS: dict[str, Route] = {
    "/endless/interim": stream_body(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100, pause_s=0.01),
    "/endless/headers": stream_body(_OK, b"X-Again: and again\r\n" * 100),
    "/endless/trailers": stream_body(_CHUNKED + b"0\r\n", b"X-Again: and again\r\n" * 1000, pause_s=0.02),
    "/endless/extension": stream_body(_CHUNKED + b"5", b";again=and-again" * 1000, pause_s=0.02),
    "/endless/slow-trailers": stream_body(_CHUNKED + b"0\r\n", b"X-Again: a\r\n", pause_s=0.1),
}

# -- pages too large to read -----------------------------------------------------------------------------

LARGE: dict[str, Route] = {
    "/large/links": build_later(
        lambda: b"<title>Links</title>" + b"".join(b"<a href=/%d>x</a>" % n for n in range(450_000))
    ),
    "/large/deep": build_later(lambda: b"<title>Deep</title>" + b"<div>" * 100_000),
    "/large/deep-hidden": build_later(lambda: b"<title>Deep</title>" + b"<div></x>" * 100_000),
    "/large/attributes": build_later(
        lambda: b"<title>Wide</title><p " + b" ".join(b"%x" % n for n in range(1_000_000)) + b">"
    ),
    "/large/text": build_later(lambda: b"<title>Text</title><p class=price>" + b"x" * 9 * _MIB),
    "/large/comments": build_later(lambda: b"<title>Comments</title>" + b"<!---->" * 1_000_000),
    "/large/entities": build_later(lambda: b"<title>Entities</title><p class=price>" + b"&notin;" * 1_000_000),
    "/large/tables": build_later(lambda: b"<title>Tables</title>" + b"<table><tr><td>" * 100_000),
    "/large/formatting": build_later(lambda: b"<title>Formatting</title>" + b"<b><i><p>" * 50_000),
    "/large/million-links": stream_body(
        _OK + b"\r\n<title>Million</title>", b"<a href=/some/longer/path/to/a/page.html>a link</a>\n" * 1000, 1000
    ),
}

# -- character sets --------------------------------------------------------------------------------------

_CAFE = "<title>Café</title><p class=price>9</p>"
_BROKEN = b"<title>Caf\xff\xc3</title><p class=price>9</p>"
CHARSETS: dict[str, Route] = {
    "/charset/wrong": html(_CAFE.encode("latin-1"), "text/html; charset=utf-8"),
    "/charset/unknown": html(_CAFE.encode(), "text/html; charset=klingon-8"),
    "/charset/two": html(b"<meta charset=koi8-r>" + _CAFE.encode(), "text/html; charset=utf-8; charset=utf-16"),
    "/charset/utf7": html(b"<title>+ADw-script+AD4-</title><p class=price>9</p>", "text/html; charset=utf-7"),
    "/charset/utf16": html(_CAFE.encode("utf-16-le"), "text/html; charset=utf-16"),
    "/charset/utf16-undeclared": html(_CAFE.encode("utf-16-be")),
    "/charset/invalid": html(_BROKEN, "text/html; charset=utf-8"),
    "/charset/nul": html(b"<title>Caf\0\0e</title><p class=price>9\0</p>", "text/html; charset=utf-8"),
    "/charset/surrogates": html(b"<title>Caf\xed\xa0\x80</title><p class=price>9</p>", "text/html; charset=utf-8"),
    "/charset/entity": html(b"<title>Caf&#xD800;&#0;</title><p class=price>9</p>", "text/html; charset=utf-8"),
    "/charset/marks": build_later(lambda: b"<title>Zalgo</title><p class=price>9" + b"\xcc\x81" * 2_500_000),
    "/charset/codec": html(b"<title>Caf</title><p class=price>9</p>", "text/html; charset=unicode_escape"),
}

# -- headers ---------------------------------------------------------------------------------------------

HEADERS: dict[str, Route] = {
    "/headers/5000-cookies": stream_body(
        _OK + b"".join(b"Set-Cookie: c%d=1\r\n" % n for n in range(5000)) + b"Content-Length: 0\r\n\r\n"
    ),
    "/headers/300-cookies": stream_body(
        _OK + b"".join(b"Set-Cookie: c%d=1\r\n" % n for n in range(300)) + b"Content-Length: 0\r\n\r\n"
    ),
    "/headers/1mb-type": stream_body(b"HTTP/1.1 200 OK\r\nContent-Type: text/" + b"a" * 1_000_000 + b"\r\n\r\nx"),
    "/headers/bare-cr": stream_body(_OK + b"X-Evil: a\rX-Other: b\r\nContent-Length: 0\r\n\r\n"),
    "/headers/nul": stream_body(_OK + b"X-Evil: a\0b\r\nContent-Length: 0\r\n\r\n"),
    "/headers/control": stream_body(_OK + b"X-Evil: a\x01b\r\nContent-Length: 0\r\n\r\n"),
    "/headers/escape": html(b"<title>\x1b[31mred\x1b[0m</title><p class=price>9</p>", "text/html"),
}

# -- lengths and redirects -------------------------------------------------------------------------------

_METADATA = "http://169.254.169.254/latest/meta-data/"
OTHERS: dict[str, Route] = {
    "/length/none": stream_body(_OK + b"\r\n<title>Whole</title><p class=price>9</p>"),
    "/length/too-small": stream_body(
        _OK + b"Content-Length: 40\r\n\r\n<title>Whole</title><p class=price>9</p>and more of it"
    ),
    "/length/words": stream_body(_OK + b"Content-Length: five\r\n\r\nhello"),
    "/length/both": stream_body(
        _OK
        + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"28\r\n<title>Whole</title><p class=price>9</p>\r\n0\r\n\r\n"
    ),
    "/length/same-twice": stream_body(
        _OK + b"Content-Length: 40\r\nContent-Length: 40\r\n\r\n<title>Whole</title><p class=price>9</p>"
    ),
    "/refresh/meta": html(f"<title>x</title><meta http-equiv=refresh content='0;url={_METADATA}'>".encode()),
    "/refresh/script": html(f"<title>x</title><script>location = '{_METADATA}'</script>".encode()),
    "/refresh/header": stream_body(
        _OK + f"Refresh: 0; url={_METADATA}\r\nContent-Length: 16\r\n\r\n<title>x</title>".encode()
    ),
    "/refresh/mapped": html(b"<title>x</title><script>location = 'http://[::ffff:169.254.169.254]/'</script>"),
}


async def _retry_after(request: "Request") -> None:
    """`/retry-after/429?value`."""
    status, _, value = request.path.rpartition("/")[2].partition("?")
    shown = value.replace("+", " ")
    await request.answer(
        b"<title>Later</title>", "Content-Type: text/html", f"Retry-After: {shown}", status=f"{status} X"
    )


RETRY_AFTER = _retry_after
ROUTES: dict[str, Route] = {**BOMBS, **ENDLESS, **LARGE, **CHARSETS, **HEADERS, **OTHERS}
