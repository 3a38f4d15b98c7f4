"""The checks of every request before a route handles it, cheapest first."""

import base64
import hashlib
import hmac
import math
import time
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from corral.api.guard.allowed_hosts import is_ours
from corral.api.guard.bodies import BodyReader, ClientGone
from corral.api.guard.client_address import find_client
from corral.api.guard.methods import MethodTable
from corral.api.guard.origins import find_foreign_origin
from corral.api.http.refusals import SECURITY_HEADERS, new_request_id
from corral.api.problems import Refused, problem
from corral.domain.errors import BadInput
from corral.domain.rate_limit import Rate, RateLimiter
from corral.settings import Settings
from corral.wiring.app import App

_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
# Pages without data: they request their data with a token. The echo page returns only what the caller sent, and
# checked proxies have no token.
_PUBLIC = frozenset({"/", "/docs", "/health", "/ready", "/proxies/echo"})
_PUBLIC_FILES = ("/static/", "/docs/assets/")


# Paths of scrapyd, whose clients send forms.
_FORMS = frozenset({"/schedule.json", "/cancel.json", "/addversion.json", "/delversion.json", "/delproject.json"})


class RequestGuard:
    def __init__(self, inner: ASGIApp, app: App, count: Callable[[str, int], None], methods: MethodTable) -> None:
        settings = app.settings
        self._inner = inner
        self._app = app
        self._count = count
        self._methods = methods
        self._tokens = _Tokens(settings)
        self._rates = _Rates(settings)
        self._bodies = BodyReader(settings.api_max_body_bytes, settings.api_body_timeout_seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        request_id = new_request_id()
        scope.setdefault("state", {})["request_id"] = request_id
        sending = self._with_headers(scope["method"], request_id, send)
        if scope["method"] == "HEAD":
            # HEAD is answered like GET, without the body.
            scope["state"]["is_head"] = True
            scope, sending = {**scope, "method": "GET"}, _without_body(sending)
        refused: Response
        try:
            self._check_head(scope)
            if self._takes_body(scope):
                receive, sending = await self._read_body(scope, receive, sending)
        except ClientGone:
            return
        except Refused as error:
            refused = error.response(request_id)
        except BadInput as error:
            refused = problem(422, error.code, error.message, request_id=request_id, field=error.field, hint=error.hint)
        else:
            try:
                await self._inner(scope, receive, sending)
            finally:
                # The server holds the scope until the connection ends, so free the body now.
                scope["state"].pop("body", None)
            return
        await refused(scope, receive, sending)

    def _with_headers(self, method: str, request_id: str, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._count(method, message["status"])
                headers = [*message["headers"], *SECURITY_HEADERS]
                if not any(name == b"x-request-id" for name, _ in headers):
                    headers.append((b"x-request-id", request_id.encode()))
                message = {**message, "headers": headers}
            await send(message)

        return sending

    def _check_head(self, scope: Scope) -> None:
        """Refuse a request by its head, before the body is read."""
        is_write = scope["method"] in _WRITES
        headers = Headers(scope=scope)
        if is_write and self._app.draining:
            message = "Corral is stopping and accepts no writes"
            raise Refused(503, "stopping", message, headers={"Retry-After": "5"})
        self._check_name(headers)
        if is_write:
            self._check_origin(headers)
        path = scope["path"]
        if path in _PUBLIC or path.startswith(_PUBLIC_FILES):
            return
        token = self._tokens.find(headers)
        self._rates.check(f"{token} {self._address(scope, headers)}", is_write=is_write)
        self._tokens.check(token, is_write=is_write)

    def _address(self, scope: Scope, headers: Headers) -> str:
        peer = (scope.get("client") or ("local",))[0]
        return find_client(peer, headers.get("x-forwarded-for", ""), self._app.settings.trusted_proxies)

    def _check_name(self, headers: Headers) -> None:
        host = headers.get("host", "")
        if self._tokens.are_needed or is_ours(host, self._app.settings.allowed_hosts):
            return
        raise Refused(
            403,
            "forbidden_host",
            f"this server has no token and is not called {host[:100]!r}",
            field="Host",
            hint="use 127.0.0.1 or localhost, add the name to APP_ALLOWED_HOSTS, or set APP_WRITE_TOKEN",
        )

    def _check_origin(self, headers: Headers) -> None:
        origin = find_foreign_origin(headers, self._app.settings.allowed_hosts)
        if origin is not None:
            message = f"a page of another origin may not write: {origin[:100]!r}"
            hint = "send it from the dashboard or without a browser; a proxy in front must keep the Host header"
            raise Refused(403, "foreign_origin", message, field="Origin", hint=hint)

    def _takes_body(self, scope: Scope) -> bool:
        """Return whether a route accepts the body; for a 404 or 405 it is not read."""
        return scope["method"] in _WRITES and scope["method"] in self._methods.methods_of(scope["path"])

    async def _read_body(self, scope: Scope, receive: Receive, send: Send) -> tuple[Receive, Send]:
        headers = Headers(scope=scope)
        self._bodies.check_head(headers, takes_form=scope["path"] in _FORMS)
        body, end_turn = await self._bodies.read(headers, receive)
        scope["state"]["body"] = body
        return _replay_body(body, receive), send if end_turn is None else _ending_turn(send, end_turn)


class _Tokens:
    """Checks the token for reading or writing. Without tokens, every client may do both, on loopback only."""

    def __init__(self, settings: Settings) -> None:
        self._read = _hash(settings.read_token)
        self._write = _hash(settings.write_token)

    @property
    def are_needed(self) -> bool:
        return self._write is not None

    def find(self, headers: Headers) -> str:
        token = _hash(_read_token(headers.get("authorization", "")))
        for name, expected in (("write", self._write), ("read", self._read)):
            if token is not None and expected is not None and hmac.compare_digest(token, expected):
                return name
        return "none"

    def check(self, token: str, *, is_write: bool) -> None:
        if not self.are_needed:
            return
        if token == "none":
            raise Refused(
                401,
                "unauthorized",
                "this server needs a token",
                hint="send `Authorization: Bearer …` with the value of APP_READ_TOKEN or APP_WRITE_TOKEN",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if is_write and token != "write":
            raise Refused(403, "forbidden", "this token may only read")


class _Rates:
    """Limits the request rate of each client, separately for reads and writes."""

    def __init__(self, settings: Settings) -> None:
        self._reads = RateLimiter(Rate(settings.api_read_rate, settings.api_read_burst))
        self._writes = RateLimiter(Rate(settings.api_write_rate, settings.api_write_burst))

    def check(self, client: str, *, is_write: bool) -> None:
        wait_s = (self._writes if is_write else self._reads).take(client, time.monotonic())
        if not wait_s:
            return
        setting = "APP_API_WRITE_RATE" if is_write else "APP_API_READ_RATE"
        raise Refused(
            429,
            "rate_limited",
            "this client sends too many requests",
            hint=f"wait as long as Retry-After says, or raise {setting}",
            headers={"Retry-After": str(math.ceil(wait_s))},
        )


def _read_token(authorization: str) -> str | None:
    """Return the token of a Bearer header, or the password of a Basic one, which clients of scrapyd send."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return None


def _hash(token: str | None) -> bytes | None:
    return None if token is None else hashlib.sha256(token.encode()).digest()


def _without_body(send: Send) -> Send:
    async def sending(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return sending


def _ending_turn(send: Send, end_turn: Callable[[], None]) -> Send:
    async def sending(message: Message) -> None:
        end_turn()
        await send(message)

    return sending


def _replay_body(body: bytes, receive: Receive) -> Receive:
    is_sent = False

    async def replay() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
