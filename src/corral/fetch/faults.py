"""Failures of fetching as values, one line each. Messages never contain a resolved address."""

from typing import Any

from corral.domain.runs.outcome import Failed, FailureCode

_MESSAGES = {
    "network:dns": "the host name could not be resolved",
    "network:refused": "the target refused the connection",
    "network:reset": "the target closed the connection before it had answered",
    "network:unreachable": "the target could not be reached",
    "network:tls": "the TLS handshake with the target failed",
    "network:proxy": "the proxy of the job could not be used",
    "network:no_proxy": "no usable proxy in the pool; `corral proxy refresh` fills it",
    "network:judge": "the page that judges proxies does not answer",
    "network:incomplete": "the body ended before it was complete",
    "timeout:dns": "the host name was not resolved in time",
    "timeout:connect": "no connection to the target in time",
    "timeout:first_byte": "the target accepted the request and did not answer in time",
    "timeout:read": "the target stopped sending in the middle of its answer",
    "timeout:total": "the fetch did not finish within its time budget",
    "rate_limited:host": "the host may not be requested yet",
    "blocked:no_session": "the job requires a login and has no session",
    "blocked:session_expired": "the site asks for a login although a session was used",
    "policy:auth_state_invalid": "the stored session cannot be trusted",
    "policy:proxy_sealed": "the proxy's user and password cannot be opened; set the job's proxy_policy again",
    "policy:alert_channel": "the alert channel cannot be opened",
    "policy:alert_refused": "the alert channel refused the message",
    "policy:smtp": "there is no mail server",
    "policy:mail_refused": "the mail server refused the message",
    "policy:egress": "the host leads to an address that is not allowed",
    "policy:scheme": "only http and https are fetched",
    "policy:url": "the URL cannot be fetched",
    "policy:robots": "robots.txt of the site disallows this page",
    "policy:robots_unreachable": "robots.txt of the site cannot be fetched, so the site is not crawled",
    "policy:out_of_scope": "the redirect leads out of the crawl",
    "policy:noai": "the site forbids training on its images",
    "policy:no_recipe": "no recipe is known for this page and these fields; a browser run records one",
    "extraction:no_page": "the document has no images",
    "extraction:shape_changed": "the answer of the site does not match its recipe",
    "extraction:parser": "own code failed",
    "limit:redirects": "too many redirects",
    "limit:body_too_large": "the body is larger than allowed",
    "limit:disk": "there is no disk space for the file",
    "limit:parse": "the document takes too much time or memory to parse",
    "bad_response:headers": "the answer has too many, too large or malformed headers",
    "bad_response:protocol": "the answer is not valid HTTP",
    "bad_response:encoding": "the content encoding is broken, unknown or stacked",
    "bad_response:xml_dtd": "the XML document has a DTD, which is not trusted",
    "bad_response:sitemap": "the document is not a sitemap",
    "bad_response:location": "the redirect has no valid Location",
}


def is_fault(name: str) -> bool:
    return name in _MESSAGES


def fault(name: str, more: str = "", **stats: Any) -> Failed:
    """Build a failure by name, as in `fault("network:dns")`; `more` is appended to the message."""
    code, _, detail = name.partition(":")
    message = _MESSAGES[name] + (f": {more}" if more else "")
    return Failed(code=FailureCode(code), detail=detail, message=message[:1000], stats=stats)
