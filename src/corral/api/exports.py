"""Stream exports as files: each is written only as fast as the client reads it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping

import structlog
from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from corral.domain.errors import CorralError, TooManyExports
from corral.export.stream import Export, chunks

log = structlog.get_logger()

MAX_EXPORTS = 8
_CHECK_EVERY_S = 0.5
# Scraped content: a browser may only save it.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-store",
    "X-Accel-Buffering": "no",
}


class Exports:
    """Counts the exports in progress and limits them, because each reads every record of a run."""

    def __init__(self) -> None:
        self.under_way = 0

    async def limit_concurrency(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        if self.under_way >= MAX_EXPORTS:
            raise TooManyExports(MAX_EXPORTS)
        self.under_way += 1
        try:
            async for piece in pieces:
                yield piece
        finally:
            self.under_way -= 1
            await pieces.aclose()  # type: ignore[attr-defined]


async def answer(request: Request, export: Export) -> Response:
    """Stream the records of a run, or only its changes. Raise errors before the first byte where possible."""
    run, kind = export.run, export.format
    export.check()
    name = "run" if export.changes is None else "changes"
    # The file name contains no text from a target or a client.
    headers = {**_HEADERS, "Content-Disposition": f'attachment; filename="{name}-{run.id}{kind.suffix}"'}
    if request.scope["state"].get("is_head"):
        return Response(media_type=kind.content_type, headers=headers)
    exports: Exports = request.app.state.exports
    pieces = exports.limit_concurrency(chunks(request.app.state.corral.store, export))
    first = await _first(request, pieces)
    if first is None:
        return Response(status_code=204)  # the client has disconnected
    return _Delivery(first, pieces, media_type=kind.content_type, headers=headers)


async def _first(request: Request, pieces: AsyncGenerator[bytes, None]) -> bytes | None:
    """Return the first piece, which may require a scan of all records; None if the client disconnects meanwhile."""
    reading = asyncio.ensure_future(anext(pieces))
    try:
        while not reading.done():
            await asyncio.wait({reading}, timeout=_CHECK_EVERY_S)
            if not reading.done() and await request.is_disconnected():
                return None
        return await reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


class _Delivery(StreamingResponse):
    def __init__(
        self, first: bytes, pieces: AsyncGenerator[bytes, None], *, media_type: str, headers: Mapping[str, str]
    ) -> None:
        super().__init__(_prepend(first, pieces), media_type=media_type, headers=headers)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except ClientDisconnect:
            log.info("export_not_read_to_end")
        except CorralError as error:
            # Close the connection in the middle of the answer, so that a client can tell an incomplete file.
            log.error("export_failed", reason=error.message)
        finally:
            await self._pieces.aclose()


async def _prepend(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in pieces:
        yield piece
