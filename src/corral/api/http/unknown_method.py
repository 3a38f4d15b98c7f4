"""Refuse methods that the parser does not know in the same way as those it knows."""

import re
from collections.abc import Callable

from corral.api.http.refusals import HttpRefusal

_REQUEST_LINE = re.compile(rb"\A([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) (/[!-~]{0,2048}) HTTP/1\.[01]\r?\n")
_KNOWN = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT"})
EVERY_METHOD = ["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"]


def find_unknown_method(data: bytes, methods_of: Callable[[str], list[str]]) -> HttpRefusal | None:
    """Return a 405, or a 404 if the path has no methods; None if `data` does not begin with a request line."""
    request_line = _REQUEST_LINE.match(data)
    if request_line is None or request_line.group(1) in _KNOWN:
        return None
    path = request_line.group(2).decode("ascii").partition("?")[0]
    allowed = methods_of(path)
    if not allowed:
        return HttpRefusal(404, "not_found", f"no such path: {path[:200]}", "see /docs")
    return method_not_allowed(request_line.group(1).decode("ascii"), allowed)


def method_not_allowed(method: str, allowed: list[str]) -> HttpRefusal:
    hint = f"send one of: {', '.join(allowed)}"
    return HttpRefusal(
        405, "method_not_allowed", f"{method} is not allowed here", hint, (("Allow", ", ".join(allowed)),)
    )
