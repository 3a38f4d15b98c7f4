"""Failures in a browser as values. The first pattern that matches Chromium's error decides."""

import re
from typing import Any

from corral.domain.runs.outcome import Failed, FailureCode
from corral.fetch.faults import fault

_MESSAGES = {
    "timeout:browser": "the page did not load within its time budget",
    "timeout:total": "no browser was ready within the time budget",
    "limit:browser": "the page exceeded a limit of browser runs",
    "policy:strategy_unavailable": "this installation has no usable browser",
    "unknown:browser_crash": "the browser or its page crashed",
    "unknown:browser_launch": "the browser did not start",
}
_BY_NET_ERROR = (
    (r"NAME_NOT_RESOLVED|DNS|ADDRESS_INVALID", "network:dns"),
    (r"CONNECTION_REFUSED", "network:refused"),
    (r"CONNECTION_TIMED_OUT|TIMED_OUT", "timeout:connect"),
    (r"TOO_MANY_REDIRECTS", "limit:redirects"),
    (r"UNSAFE_REDIRECT|UNKNOWN_URL_SCHEME|DISALLOWED_URL_SCHEME", "policy:scheme"),
    (r"UNSAFE_PORT|BLOCKED_BY_\w+|INVALID_URL|ACCESS_DENIED", "policy:url"),
    (r"CERT_|SSL_|BAD_SSL", "network:tls"),
    (r"CONTENT_LENGTH_MISMATCH|INCOMPLETE_CHUNKED", "network:incomplete"),
    (r"CONTENT_DECODING|ZSTD_", "bad_response:encoding"),
    (r"RESPONSE_HEADERS_(?!TRUNCATED|MULTIPLE)", "bad_response:headers"),
    (
        r"INVALID_RESPONSE|INVALID_HTTP|INVALID_REDIRECT|INVALID_CHUNKED|HTTP_RESPONSE|RESPONSE_HEADERS_MULTIPLE",
        "bad_response:protocol",
    ),
    (r"ADDRESS_UNREACHABLE|INTERNET_DISCONNECTED|TUNNEL|PROXY", "network:unreachable"),
    (r"", "network:reset"),
)
_COMPILED = tuple((re.compile(pattern), name) for pattern, name in _BY_NET_ERROR)
_NET_ERROR = re.compile(r"net::ERR_([A-Z0-9_]+)")


def browser_fault(name: str, more: str = "", **stats: Any) -> Failed:
    code, _, detail = name.partition(":")
    message = _MESSAGES[name] + (f": {more}" if more else "")
    return Failed(code=FailureCode(code), detail=detail, message=message[:1000], stats=stats)


def net_error_of(text: str) -> str | None:
    """Return `CONNECTION_RESET` from `Page.goto: net::ERR_CONNECTION_RESET at http://…`."""
    found = _NET_ERROR.search(text)
    return found[1] if found else None


def fault_of_net_error(error: str) -> Failed:
    name = next(name for pattern, name in _COMPILED if pattern.search(error))
    return fault(name, error.lower().replace("_", " "))
