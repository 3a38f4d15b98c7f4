"""The faults of the web as values, one line each. Messages never carry a resolved address."""

from typing import Any

from corral.domain.runs.outcome import Failed, FailureCode

_MESSAGES = {
    "network:dns": "the host name could not be resolved",
    "network:refused": "the target refused the connection",
    "network:reset": "the target closed the connection before it had answered",
    "network:unreachable": "the target could not be reached",
    "network:tls": "the TLS handshake with the target failed",
    "network:proxy": "the proxy of the job could not be used",
    "network:incomplete": "the body ended before it was complete",
    "timeout:dns": "the host name was not resolved in time",
    "timeout:connect": "no connection to the target in time",
    "timeout:first_byte": "the target accepted the request and did not answer in time",
    "timeout:gap": "the target stopped sending in the middle of its answer",
    "timeout:total": "the fetch did not finish within its time budget",
    "blocked:no_session": "the job requires a login and has no session",
    "blocked:session_dead": "the site asks for a login although a session was used",
    "policy:auth_state_invalid": "the stored session cannot be trusted",
    "policy:proxy_sealed": "the proxy's user and password cannot be opened; set the job's proxy_policy again",
    "policy:egress": "the host leads to an address that is not allowed",
    "policy:scheme": "only http and https are fetched",
    "policy:url": "the URL is not one that is fetched",
    "policy:robots": "robots.txt of the site disallows this page",
    "policy:robots_unreachable": "robots.txt of the site cannot be had, so nothing of it is crawled",
    "policy:out_of_scope": "the redirect leads out of the crawl",
    "policy:no_recipe": "no recipe is known for this page and these fields; a run by browser records one",
    "extraction:shape_changed": "the site answers otherwise than its recipe says",
    "limit:redirects": "too many redirects",
    "limit:body_too_large": "the body is larger than allowed",
    "limit:disk": "there is no room for the file",
    "limit:parse": "the document is too much to be read",
    "bad_response:headers": "the answer has too many, too large or malformed headers",
    "bad_response:protocol": "the answer is not valid HTTP",
    "bad_response:encoding": "the content encoding is broken, unknown or stacked",
    "bad_response:xml_dtd": "the XML document comes with declarations of its own (a DTD), which are not trusted",
    "bad_response:sitemap": "this is no sitemap",
    "bad_response:location": "the redirect does not say where to",
}


def is_fault(name: str) -> bool:
    return name in _MESSAGES


def fault(name: str, more: str = "", **stats: Any) -> Failed:
    """`fault("network:dns")`; `more` is appended to the sentence for people."""
    code, _, detail = name.partition(":")
    message = _MESSAGES[name] + (f": {more}" if more else "")
    return Failed(code=FailureCode(code), detail=detail, message=message[:1000], stats=stats)
