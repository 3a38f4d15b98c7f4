"""Answers of the server itself, before there is a request that a route could answer."""

import random
import uuid
from dataclasses import dataclass
from http import HTTPStatus

from corral.api.render import dumps

SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)


def new_request_id() -> str:
    """Return a random id without a system call: that of `uuid4` would switch threads once per request."""
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


@dataclass(frozen=True, slots=True)
class HttpRefusal:
    status: int
    code: str
    message: str
    hint: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def response(self) -> bytes:
        """Return the whole answer, in the format of every other error; the connection closes after it."""
        request_id = new_request_id()
        error = {"code": self.code, "message": self.message, "hint": self.hint, "request_id": request_id}
        body = dumps({"error": {name: text for name, text in error.items() if text}, "detail": self.message})
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
            (b"x-request-id", request_id.encode()),
            *SECURITY_HEADERS,
            *((name.lower().encode(), text.encode()) for name, text in self.headers),
        ]
        lines = [b"HTTP/1.1 %d %s" % (self.status, HTTPStatus(self.status).phrase.encode())]
        lines += [name + b": " + text for name, text in headers]
        return b"\r\n".join(lines) + b"\r\n\r\n" + body


MALFORMED = HttpRefusal(
    400, "bad_request", "this is not a valid HTTP/1.1 request", "check the request line and the headers"
)
HEAD_TIMEOUT = HttpRefusal(
    408, "request_timeout", "the headers did not arrive in time", "send the whole request at once"
)
NO_ROOM = HttpRefusal(
    503, "too_many_connections", "too many connections are open", "close some, or try again", (("Retry-After", "1"),)
)
PIPELINED = HttpRefusal(400, "too_many_pipelined", "too many requests were sent without waiting for an answer")


def url_too_long(limit: int) -> HttpRefusal:
    return HttpRefusal(414, "url_too_long", f"the address is longer than {limit} bytes", "send long values in a body")


def headers_too_large(max_bytes: int) -> HttpRefusal:
    return HttpRefusal(431, "headers_too_large", f"the request line and headers are larger than {max_bytes} bytes")


def too_many_headers(limit: int) -> HttpRefusal:
    return HttpRefusal(431, "headers_too_large", f"the request has more than {limit} headers")
