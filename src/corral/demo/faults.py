"""Pages that misbehave, each in one way that its query parameters control."""

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from corral.demo.pages import block_page, document, notice_page
from corral.demo.params import header_value, seconds, whole_number
from corral.demo.state import state_of

MAX_SLOW_S = 60
MAX_LARGE_BYTES = 50 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_LARGE_START = b"<!doctype html><html><head><title>A large page</title></head><body>\n"
_LARGE_LINE = b"<p>The fence runs on along the ridge, post after post after post.</p>\n"
_LARGE_END = b"</body></html>\n"


async def deny(_request: Request) -> Response:
    return HTMLResponse(block_page(), 403)


async def require_credentials(_request: Request) -> Response:
    page = notice_page("Unauthorized", "This page needs credentials that were not sent.")
    return HTMLResponse(page, 401, {"WWW-Authenticate": 'Basic realm="demo"'})


async def limit_rate(request: Request) -> Response:
    key = request.query_params.get("key", "")
    refused_count = whole_number(request, "fail", default=2, low=0, high=1_000_000)
    retry_after = header_value(request, "retry_after", default="2")
    if state_of(request).visit(f"limited {key}") > refused_count:
        return HTMLResponse(notice_page("Within the limit", "You waited, and here is the page."))
    page = notice_page("Too many requests", "Slow down and try again later.")
    return HTMLResponse(page, 429, {"Retry-After": retry_after})


async def flaky(request: Request) -> Response:
    key = request.query_params.get("key", "")
    good_count = whole_number(request, "after", default=0, low=0, high=1_000_000)
    bad_count = whole_number(request, "fail", default=1, low=0, high=1_000_000)
    visit = state_of(request).visit(f"flaky {key}")
    if good_count < visit <= good_count + bad_count:
        return HTMLResponse(notice_page("Service unavailable", "Try again in a moment."), 503)
    return HTMLResponse(notice_page("Recovered", f"Answered at visit {visit}."))


async def slow(request: Request) -> Response:
    wait_s = seconds(request, "seconds", default=3, high=MAX_SLOW_S)
    await asyncio.sleep(wait_s)
    return HTMLResponse(notice_page("A slow page", f"This took {wait_s:g} seconds."))


async def broken(_request: Request) -> Response:
    return HTMLResponse(notice_page("Internal server error", "Something fell over."), 500)


async def report_gone(_request: Request) -> Response:
    return HTMLResponse(notice_page("Gone", "This page was here once and will not come back."), 410)


async def missing(_request: Request) -> Response:
    return HTMLResponse(notice_page("Not found", "There is no such page."), 404)


class TruncatedResponse(Response):
    """Announces a body and sends only half of it; the server then drops the connection."""

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        part = self.body[: len(self.body) // 2]
        await send({"type": "http.response.body", "body": part, "more_body": True})


async def reset(_request: Request) -> Response:
    page = notice_page("Interrupted", "This sentence may never reach you. " * 40)
    return TruncatedResponse(page, media_type="text/html")


async def redirect(request: Request) -> Response:
    remaining_count = whole_number(request, "n", default=1, low=1, high=100)
    target = f"/redirect?n={remaining_count - 1}" if remaining_count > 1 else "/articles"
    return RedirectResponse(target, 302)


async def redirect_loop(_request: Request) -> Response:
    return RedirectResponse("/redirect-loop", 302)


async def empty(_request: Request) -> Response:
    return HTMLResponse("")


async def notitle(_request: Request) -> Response:
    return HTMLResponse(document(None, "<p>This page has text, and neither a title nor a heading.</p>"))


async def large(request: Request) -> Response:
    size_bytes = whole_number(request, "bytes", default=1024 * 1024, low=0, high=MAX_LARGE_BYTES)
    return StreamingResponse(_large_body(size_bytes), media_type="text/html")


async def _large_body(size_bytes: int) -> AsyncIterator[bytes]:
    """Yield exactly `size_bytes` bytes: a whole document if it fits, otherwise the start of one."""
    start, end = _LARGE_START[:size_bytes], _LARGE_END
    yield start
    filler_bytes = max(0, size_bytes - len(start) - len(end))
    block = _LARGE_LINE * (_CHUNK_BYTES // len(_LARGE_LINE))
    left_bytes = filler_bytes
    while left_bytes >= len(block):
        yield block
        left_bytes -= len(block)
    lines, spaces = divmod(left_bytes, len(_LARGE_LINE))
    yield _LARGE_LINE * lines + b" " * spaces
    yield end[: size_bytes - len(start) - filler_bytes]


ROUTES = [
    Route("/blocked", deny),
    Route("/unauthorized", require_credentials),
    Route("/limited", limit_rate),
    Route("/flaky", flaky),
    Route("/slow", slow),
    Route("/broken", broken),
    Route("/gone", report_gone),
    Route("/missing", missing),
    Route("/reset", reset),
    Route("/redirect", redirect),
    Route("/redirect-loop", redirect_loop),
    Route("/empty", empty),
    Route("/notitle", notitle),
    Route("/large", large),
]
