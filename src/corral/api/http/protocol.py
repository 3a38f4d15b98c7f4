"""Handle one connection with uvicorn's HTTP/1.1 protocol, and limit it before there is a request.

uvicorn limits neither the head of a request nor the time it takes, and answers malformed requests in plain text.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from corral.api.http.connections import Connections, State
from corral.api.http.refusals import (
    HEAD_TIMEOUT,
    MALFORMED,
    NO_ROOM,
    PIPELINED,
    HttpRefusal,
    headers_too_large,
    new_request_id,
    too_many_headers,
    url_too_long,
)
from corral.api.http.unknown_method import EVERY_METHOD, find_unknown_method, method_not_allowed
from corral.api.problems import problem

# Answered even if there is no room for other requests.
_ALWAYS_ANSWERED = frozenset({"/health", "/ready"})
_MAX_PIPELINED = 8
# How much of a refused request is read and discarded.
_MAX_DISCARDED = 64 * 1024 * 1024
_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})

CountAnswer = Callable[[str, int], None]
MethodsOf = Callable[[str], list[str]]


class _Refused(Exception):
    """Raised inside a callback to stop the parser."""

    def __init__(self, refusal: HttpRefusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class _ClosingTransport:
    """A transport whose `close` first lets the client read the answer."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport = transport
        self.close = close

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class GuardedProtocol(HttpToolsProtocol):
    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections,
        count: CountAnswer,
        methods_of: MethodsOf,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._registry = connections
        self._limits = connections.limits
        self._count = count
        self._methods_of = methods_of
        self._socket: asyncio.Transport
        self._is_refused = False
        self._running: RequestResponseCycle | None = None
        self._is_in_head = False
        self._is_receiving = False  # a request has begun and is not complete
        self._head_bytes = 0  # in complete headers
        self._fed_bytes = 0  # in pieces that did not complete the head
        self._header_count = 0
        self._discarded_bytes = 0

    # ------------------------------------------------------------------------------------------ the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._socket = transport
        super().connection_made(cast(asyncio.Transport, _ClosingTransport(transport, self._close)))
        if not self._registry.admit(self):
            self._count("none", NO_ROOM.status)
            transport.write(NO_ROOM.response())
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._registry.forget(self)
        super().connection_lost(exc)
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        self.pipeline.clear()
        # Break all reference cycles, so that the memory is freed now and not by a later garbage collection.
        self.transport = self._socket
        self._running = self.cycle = self.flow = None  # type: ignore[assignment]

    def shutdown(self) -> None:
        """Let an answer in progress end; do not wait for input that has not arrived."""
        running = self._running
        if running is None or running.response_complete:
            self._socket.close()
        elif self._is_receiving and running is self.cycle and not running.response_started:
            running.disconnected = True
            running.message_event.set()
            self._socket.close()
        else:
            running.keep_alive = False

    def pause_writing(self) -> None:
        super().pause_writing()
        self._registry.note_stalled(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._registry.note_flowing(self)

    def evict(self) -> None:
        self._leave(NO_ROOM)

    def time_out(self) -> None:
        self._leave(HEAD_TIMEOUT)

    def abort(self) -> None:
        self._socket.abort()

    def _leave(self, refusal: HttpRefusal) -> None:
        """Close the connection; answer first if the client has begun to send a request."""
        if self._is_in_head and self._registry.state_of(self) is State.WAITING:
            self._answer(refusal)
        self._registry.forget(self)
        self._socket.close()

    def _close(self) -> None:
        """Close at once if the request was read completely; otherwise continue to read for a moment."""
        if self._registry.state_of(self) is State.LINGERING or self._socket.is_closing():
            return
        if self._is_receiving:
            self._linger()
        else:
            self._socket.close()

    def _linger(self) -> None:
        if self._socket.is_closing():
            return
        self._registry.move(self, State.LINGERING)
        self.flow.resume_reading()
        self._socket.write_eof()

    # ------------------------------------------------------------------------------------------ incoming data

    def data_received(self, data: bytes) -> None:
        state = self._registry.state_of(self)
        if state is State.LINGERING:
            self._discard(len(data))
            return
        if self._is_refused or state is None:
            return
        self._unset_keepalive_if_required()
        if state is State.IDLE:
            self._registry.move(self, State.WAITING)
        was_in_head = self._is_in_head
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # upgrades are not supported: answer the request as it is
        except httptools.HttpParserInvalidMethodError:
            self._refuse(find_unknown_method(data, self._methods_of) or MALFORMED)
        except httptools.HttpParserError as error:
            cause = error.__context__
            self._refuse(cause.refusal if isinstance(cause, _Refused) else MALFORMED)
        else:
            self._check_unfinished_head(len(data), was_in_head=was_in_head)

    def _check_unfinished_head(self, size: int, *, was_in_head: bool) -> None:
        """Limit a single endless header: the parser reports only complete headers."""
        if not self._is_in_head or not was_in_head:
            return
        self._fed_bytes += size
        if self._fed_bytes > self._limits.max_header_bytes:
            self._refuse(headers_too_large(self._limits.max_header_bytes))

    def _discard(self, size: int) -> None:
        self._discarded_bytes += size
        if self._discarded_bytes > _MAX_DISCARDED:
            self._socket.abort()

    # --------------------------------------------------------------------------------------- the parser's calls

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head = self._is_receiving = True
        self._head_bytes = self._fed_bytes = self._header_count = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > self._limits.max_url_bytes:
            raise _Refused(url_too_long(self._limits.max_url_bytes))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_count += 1
        self._head_bytes += len(name) + len(value) + 4
        if self._header_count > self._limits.max_headers:
            raise _Refused(too_many_headers(self._limits.max_headers))
        if self._head_bytes + len(self.url) > self._limits.max_header_bytes:
            raise _Refused(headers_too_large(self._limits.max_header_bytes))
        if self._is_in_head:  # trailers, after the body, are counted and dropped
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        if self.parser.get_method() == b"CONNECT":
            raise _Refused(method_not_allowed("CONNECT", EVERY_METHOD))
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise _Refused(PIPELINED)
        self._registry.move(self, State.BUSY)
        super().on_headers_complete()
        if any(name in _BODY_HEADERS for name, _ in self.headers):
            # Pause until the application reads the body, so that unread bodies take as little memory as possible.
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        self._is_receiving = False
        super().on_message_complete()

    # ------------------------------------------------------------------------------------------ answers

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        inner = app if self._registry.has_room or cycle.scope["path"] in _ALWAYS_ANSWERED else _no_room

        async def run(scope: Any, receive: Any, send: Any) -> None:
            async def send_and_close(message: Any) -> None:
                if message["type"] == "http.response.start" and cycle.more_body:
                    cycle.keep_alive = False  # do not wait for the rest of the request
                if cycle.disconnected:
                    # uvicorn drops it silently; a stream that never awaits would not notice its cancellation.
                    await asyncio.sleep(0)
                await send(message)

            await inner(scope, receive, send_and_close)

        super()._start_asgi_task(cycle, cast(Any, run))

    def on_response_complete(self) -> None:
        super().on_response_complete()
        is_done = self._running is None or self._running.response_complete
        if is_done and self._registry.state_of(self) is State.BUSY:
            self._registry.move(self, State.WAITING if self._is_in_head else State.IDLE)
            if self._is_in_head:
                self._unset_keepalive_if_required()  # the next request has begun: its head has its own time

    def _refuse(self, refusal: HttpRefusal) -> None:
        """Answer malformed input, after any answer in progress, and close the connection."""
        self._is_refused = True
        self.pipeline.clear()
        running = self._running
        if running is None or running.response_complete:
            self._answer(refusal)
        elif running is self.cycle and self._is_receiving and not self._is_in_head:
            # The body of this request is malformed: discard the answer of its route.
            running.disconnected = True
            running.message_event.set()
            if not running.response_started:
                self._answer(refusal)
        else:
            running.keep_alive = False
            return
        self._linger()

    def _answer(self, refusal: HttpRefusal) -> None:
        self._count("none", refusal.status)
        self._socket.write(refusal.response())


async def _no_room(scope: Any, receive: Any, send: Any) -> None:
    headers = {**dict(NO_ROOM.headers), "Connection": "close"}
    refused = problem(
        503, NO_ROOM.code, NO_ROOM.message, request_id=new_request_id(), hint=NO_ROOM.hint, headers=headers
    )
    await refused(scope, receive, send)
