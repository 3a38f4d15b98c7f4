"""What every request passes before a route sees it: identity, rights, size, shape."""

import hashlib
import hmac
import json
import re
import uuid
from collections.abc import Callable

import orjson
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from corral.api.names import is_ours
from corral.api.problems import problem
from corral.wiring import App

MAX_BODY = 1024 * 1024
MAX_DEPTH = 32
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
# Pages without data of their own: what they show they have to ask for, with a token.
_PUBLIC = frozenset({"/", "/docs", "/health", "/ready"})
_PUBLIC_FILES = ("/static/", "/docs/assets/")
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_SECURITY_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]


class Gate:
    def __init__(self, inner: ASGIApp, app: App, count: Callable[[str, int], None]) -> None:
        self._inner = inner
        self._app = app
        self._count = count
        self._read = _hashed(app.settings.read_token)
        self._write = _hashed(app.settings.write_token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        request_id = str(uuid.uuid4())
        scope.setdefault("state", {})["request_id"] = request_id
        sending = self._with_headers(scope["method"], request_id, send)
        if scope["method"] == "HEAD":
            # Answered as GET is, without the body: what is asked for is whether it is there, and its headers.
            scope["state"]["is_head"] = True
            scope, sending = {**scope, "method": "GET"}, _without_body(sending)
        refused = self._refusal(scope, request_id)
        if refused is None and scope["method"] in _WRITES:
            received = await _body(scope, receive, request_id)
            if isinstance(received, Response):
                refused = received
            else:
                scope["state"]["body"] = received
                receive = _replayed(received, receive)
        await (refused or self._inner)(scope, receive, sending)

    def _with_headers(self, method: str, request_id: str, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._count(method, message["status"])
                headers = [*message["headers"], *_SECURITY_HEADERS]
                if not any(name == b"x-request-id" for name, _ in headers):
                    headers.append((b"x-request-id", request_id.encode()))
                message = {**message, "headers": headers}
            await send(message)

        return sending

    def _refusal(self, scope: Scope, request_id: str) -> Response | None:
        is_write = scope["method"] in _WRITES
        if is_write and self._app.draining:
            return problem(
                503,
                "stopping",
                "Corral is stopping and takes nothing new",
                request_id=request_id,
                headers={"Retry-After": "5"},
            )
        return self._miscalled(scope, request_id) or self._unauthorized(scope, request_id, is_write=is_write)

    def _miscalled(self, scope: Scope, request_id: str) -> Response | None:
        host = Headers(scope=scope).get("host", "")
        if self._write is not None or is_ours(host, self._app.settings.allowed_hosts):
            return None
        return problem(
            403,
            "forbidden_host",
            f"this server has no token and is not called {host[:100]!r}",
            request_id=request_id,
            field="Host",
            hint="ask 127.0.0.1 or localhost, name it in APP_ALLOWED_HOSTS, or set APP_WRITE_TOKEN",
        )

    def _unauthorized(self, scope: Scope, request_id: str, *, is_write: bool) -> Response | None:
        path = scope["path"]
        if self._write is None or path in _PUBLIC or path.startswith(_PUBLIC_FILES):
            return None
        given = Headers(scope=scope).get("authorization", "")
        token = _hashed(given[7:].strip()) if given[:7].lower() == "bearer " else None
        may_write = token is not None and hmac.compare_digest(token, self._write)
        may_read = may_write or (
            token is not None and self._read is not None and hmac.compare_digest(token, self._read)
        )
        if not may_read:
            return problem(
                401,
                "unauthorized",
                "this server needs a token",
                request_id=request_id,
                hint="send `Authorization: Bearer …` with the value of APP_READ_TOKEN or APP_WRITE_TOKEN",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if is_write and not may_write:
            return problem(403, "forbidden", "this token may only read", request_id=request_id)
        return None


def _hashed(token: str | None) -> bytes | None:
    return None if token is None else hashlib.sha256(token.encode()).digest()


async def _body(scope: Scope, receive: Receive, request_id: str) -> bytes | Response:
    """The whole body, refused as soon as it is known to be too large."""
    too_large = problem(
        413,
        "body_too_large",
        f"the body is larger than {MAX_BODY} bytes",
        request_id=request_id,
        hint="split the request",
        headers={"Connection": "close"},
    )
    declared = Headers(scope=scope).get("content-length", "")
    if declared.isdigit() and len(declared) < 20 and int(declared) > MAX_BODY:
        return too_large
    body = b""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return too_large
        more = message.get("more_body", False)
    return body if not body else _checked(body, Headers(scope=scope).get("content-type"), request_id)


def _checked(body: bytes, content_type: str | None, request_id: str) -> bytes | Response:
    if too_deep(body):
        return problem(422, "too_deep", f"the body is nested deeper than {MAX_DEPTH} levels", request_id=request_id)
    if not is_json(content_type):
        sent = f"is sent as {content_type[:100]!r}" if content_type else "is sent without a Content-Type"
        return problem(
            415,
            "unsupported_media_type",
            f"the body {sent}; application/json is expected",
            request_id=request_id,
            field="Content-Type",
            hint="send the header `Content-Type: application/json`",
        )
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return problem(
            422,
            "bad_json",
            f"the body is not JSON: {error}"[:300],
            request_id=request_id,
            field="body",
            hint="send one JSON document in UTF-8",
        )
    repeated = repeated_key(body)
    if repeated is not None:
        return problem(
            422,
            "repeated_key",
            f"the key {repeated[:100]!r} stands twice in one object of the body",
            request_id=request_id,
            field=repeated[:100],
            hint="send it once: which of them counts is not defined",
        )
    return body


def is_json(content_type: str | None) -> bool:
    kind = (content_type or "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def repeated_key(body: bytes) -> str | None:
    """A key that some object of the document has twice. Parsers silently take one of them."""
    repeated: list[str] = []

    def look(pairs: list[tuple[str, None]]) -> None:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            repeated.extend(name for name in names if names.count(name) > 1)

    json.loads(body, object_pairs_hook=look)
    return repeated[0] if repeated else None


def too_deep(body: bytes) -> bool:
    """Count brackets outside strings before any parser recurses into them."""
    depth = 0
    for found in _BRACKETS.finditer(body):
        match found.group()[:1]:
            case b"{" | b"[":
                depth += 1
                if depth > MAX_DEPTH:
                    return True
            case b"}" | b"]":
                depth -= 1
    return False


def _without_body(send: Send) -> Send:
    async def sending(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return sending


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
