"""Read and check request bodies: refuse them unread if possible, and in linear time otherwise.

This never blocks the event loop for long: pieces are checked as they arrive, and large bodies are parsed one at a time,
with time for other requests between two of them.
"""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import orjson
from starlette.datastructures import Headers
from starlette.types import Message, Receive

from corral.api.problems import Refused
from corral.domain.errors import BadInput
from corral.domain.json_shape import JsonShape, find_repeated_key

# At most _MAX_LARGE large bodies are received at the same time, to bound memory; the others wait unread.
LARGE_BYTES = 64 * 1024
_MAX_LARGE = 4
_LARGE_GAP_S = 1.0
# Large bodies are parsed and validated one at a time: each has a turn of at most this length, and between two turns
# only small requests use the event loop.
_TURN_S = 0.1
_BETWEEN_TURNS_S = 0.03


EndTurn = Callable[[], None]


class ClientGone(Exception):
    """Raised if the client closes the connection in the middle of its body, so that no answer can be sent."""


class BodyReader:
    def __init__(self, max_bytes: int, timeout_s: float) -> None:
        self._max_bytes = max_bytes
        self._timeout_s = timeout_s
        self._slots = asyncio.Semaphore(_MAX_LARGE)
        self._turn = asyncio.Lock()

    def check_head(self, headers: Headers, *, takes_form: bool = False) -> None:
        """Refuse a request by its headers, before the body is read."""
        declared = headers.get("content-length", "")
        if declared.isdigit() and (len(declared) > 18 or int(declared) > self._max_bytes):
            raise self._too_large()
        has_body = declared.strip("0") or "transfer-encoding" in headers
        content_type = headers.get("content-type")
        if has_body and not is_json(content_type) and not (takes_form and _is_any_form(content_type)):
            raise _not_json(content_type)

    async def read(self, headers: Headers, receive: Receive) -> tuple[bytes, EndTurn | None]:
        """Return the whole body, checked, and for a large body the function that ends its turn."""
        async with AsyncExitStack() as stack:
            slot = _LargeBodySlot(self._slots, stack)
            if int(headers.get("content-length", 0)) > LARGE_BYTES:
                await self._take_slot(slot)
            is_json_body = not _is_any_form(headers.get("content-type"))
            body = await self._receive_all(receive, slot, JsonShape() if is_json_body else None)
            end_turn = await self._take_turn() if len(body) > LARGE_BYTES else None
            try:
                if is_json_body:
                    check_json(body)
            except BadInput:
                if end_turn is not None:
                    end_turn()
                raise
            return body, end_turn

    async def _take_slot(self, slot: "_LargeBodySlot") -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                await slot.take()
        except TimeoutError:
            message = "too many large bodies arrive at once"
            headers = {"Connection": "close", "Retry-After": "1"}
            raise Refused(503, "too_many_bodies", message, hint="try again", headers=headers) from None

    async def _receive_all(self, receive: Receive, slot: "_LargeBodySlot", shape: JsonShape | None) -> bytes:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._receive_pieces(receive, slot, shape)
        except TimeoutError:
            message = f"the body did not arrive within {self._timeout_s:g} s, or stopped arriving"
            hint = "send the whole request at once"
            raise Refused(408, "request_timeout", message, hint=hint, headers={"Connection": "close"}) from None

    async def _receive_pieces(self, receive: Receive, slot: "_LargeBodySlot", shape: JsonShape | None) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while True:
            message = await slot.next_piece(receive)
            if message["type"] == "http.disconnect":
                raise ClientGone
            piece: bytes = message.get("body", b"")
            size += len(piece)
            if size > self._max_bytes:
                raise self._too_large()
            if shape is not None:
                shape.feed(piece)
            pieces.append(piece)
            if not message.get("more_body", False):
                return b"".join(pieces)
            if size > LARGE_BYTES:  # the size of a chunked body is known only now
                await slot.take()

    async def _take_turn(self) -> EndTurn:
        await self._turn.acquire()
        loop = asyncio.get_running_loop()
        is_over = False

        def end_turn() -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                loop.call_later(_BETWEEN_TURNS_S, self._turn.release)

        loop.call_later(_TURN_S, end_turn)
        return end_turn

    def _too_large(self) -> Refused:
        message = f"the body is larger than {self._max_bytes} bytes"
        headers = {"Connection": "close"}
        return Refused(413, "body_too_large", message, hint="split the request", headers=headers)


class _LargeBodySlot:
    """A slot for a large body, held from `take` until the body is checked."""

    def __init__(self, slots: asyncio.Semaphore, stack: AsyncExitStack) -> None:
        self._slots = slots
        self._stack = stack
        self._is_held = False

    async def take(self) -> None:
        if not self._is_held:
            await self._stack.enter_async_context(self._slots)
            self._is_held = True

    async def next_piece(self, receive: Receive) -> Message:
        """Return the next piece. Raise TimeoutError if the body stops arriving while another one waits for a slot."""
        while True:
            try:
                async with asyncio.timeout(_LARGE_GAP_S if self._is_held else None):
                    return await receive()
            except TimeoutError:
                if self._slots.locked():
                    raise


def _not_json(content_type: str | None) -> Refused:
    sent = f"is sent as {content_type[:100]!r}" if content_type else "is sent without a Content-Type"
    return Refused(
        415,
        "unsupported_media_type",
        f"the body {sent}; application/json is expected",
        field="Content-Type",
        hint="send the header `Content-Type: application/json`",
    )


def is_json(content_type: str | None) -> bool:
    kind = (content_type or "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def is_form(content_type: str | None) -> bool:
    return (content_type or "").partition(";")[0].strip().lower() == "application/x-www-form-urlencoded"


def is_multipart(content_type: str | None) -> bool:
    return (content_type or "").partition(";")[0].strip().lower() == "multipart/form-data"


def _is_any_form(content_type: str | None) -> bool:
    return is_form(content_type) or is_multipart(content_type)


def check_json(body: bytes) -> None:
    if not body:
        return
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        message = f"the body is not JSON: {error}"[:300]
        raise BadInput(message, field="body", hint="send one JSON document in UTF-8", code="bad_json") from None
    repeated = find_repeated_key(body)
    if repeated is not None:
        message = f"the key {repeated[:100]!r} occurs twice in one object of the body"
        hint = "send it once: JSON does not define which value counts"
        raise BadInput(message, field=repeated[:100], hint=hint, code="repeated_key")
