"""When a stored answer may be reused: the subset of RFC 9111 that a private GET cache needs, as pure functions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum

from corral.domain.redaction import find_secrets

Headers = tuple[tuple[str, str], ...]  # names in lower case

# Final answers about the page itself. The cache never stores a refusal (401, 403, 429) or a server error.
_STORED_STATUS = frozenset({200, 203, 404, 410})
# Never stored: headers that identify a visitor, and headers of a single connection.
_NOT_STORED = frozenset(
    {"set-cookie", "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "upgrade"}
)
# A 304 does not change these headers: they describe the body, which a 304 does not carry.
_BODY_HEADERS = frozenset({"content-encoding", "content-length", "content-range", "content-type", "transfer-encoding"})
# Request headers that do not identify the client. With any other header the answer may be personal.
_PLAIN_HEADERS = frozenset({"accept", "accept-language", "content-type", "x-requested-with"})
_MAX_FRESH_S = 31_536_000  # a year; longer lifetimes are cut to it


class CacheMode(StrEnum):
    OFF = "off"
    REVALIDATE = "revalidate"  # fresh pages are reused, stale ones revalidated
    REPLAY = "replay"  # stored pages are always reused: for developing against a site without further requests


class CacheUse(StrEnum):
    """How the cache answered a request; recorded in the statistics of the run."""

    HIT = "hit"  # answered from disk, without a connection
    REVALIDATED = "revalidated"  # the site confirmed the stored page with a 304
    MISS = "miss"  # fetched


def combine_uses(uses: Iterable[str]) -> str | None:
    """Return the worst of several uses: a page is a hit only if all its requests were hits."""
    values = set(uses)
    return next((use.value for use in (CacheUse.MISS, CacheUse.REVALIDATED, CacheUse.HIT) if use.value in values), None)


@dataclass(frozen=True, slots=True)
class StoredPage:
    url: str  # final URL, after redirects
    status: int
    headers: Headers
    body: bytes
    chain: tuple[str, ...]
    stored_at: float  # seconds since 1970
    request_headers: Headers  # the request's own headers, for Vary


def may_use_cache(mode: CacheMode, headers: Mapping[str, str], *, has_login: bool) -> bool:
    """False for a request that identifies the client: its answer must not reach another run."""
    return mode is not CacheMode.OFF and not has_login and all(name.lower() in _PLAIN_HEADERS for name in headers)


def should_store(page: StoredPage, mode: CacheMode) -> bool:
    if page.status not in _STORED_STATUS or _has_secret_url(page):
        return False
    if mode is CacheMode.REPLAY:
        return True  # a recording: the site's rules for reuse do not apply
    cache_control = directives(page.headers)
    # A redirect chain is as fresh as its shortest-lived hop, and the hops are not stored.
    if "no-store" in cache_control or page.chain or "*" in _varies_by(page.headers):
        return False
    return bool(freshness_s(page.headers)) or bool(validators(page))


def _has_secret_url(page: StoredPage) -> bool:
    """True if a URL of the page or of its redirects holds a secret: the cache file would contain it."""
    return any(find_secrets(url) for url in (page.url, *page.chain))


def storable_headers(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if name not in _NOT_STORED)


def is_usable(page: StoredPage, mode: CacheMode, headers: Headers, now: float) -> bool:
    """True if the page answers the request without a connection."""
    if mode is CacheMode.REPLAY:
        return True
    return matches(page, headers) and is_fresh(page, now)


def is_fresh(page: StoredPage, now: float) -> bool:
    if "no-cache" in directives(page.headers):
        return False
    return age_s(page, now) < freshness_s(page.headers)


def matches(page: StoredPage, headers: Headers) -> bool:
    """True if the request has the same value as the stored one for every header that Vary names."""
    names = _varies_by(page.headers)
    return "*" not in names and all(_values(page.request_headers, name) == _values(headers, name) for name in names)


def validators(page: StoredPage) -> dict[str, str]:
    """Return the headers of a conditional request; empty if the page has no validator."""
    headers = {}
    if etag := _first(page.headers, "etag"):
        headers["if-none-match"] = etag
    if modified := _first(page.headers, "last-modified"):
        headers["if-modified-since"] = modified
    return headers


def refresh(page: StoredPage, headers: Headers, now: float) -> StoredPage | None:
    """Return the page with the headers of a 304; None if the 304 is about another version."""
    theirs, ours = _first(headers, "etag"), _first(page.headers, "etag")
    if theirs is not None and _weak(theirs) != _weak(ours or ""):
        return None
    newer = {name for name, _ in headers if name not in _BODY_HEADERS}
    unchanged = tuple((name, value) for name, value in page.headers if name not in newer)
    added = tuple((name, value) for name, value in storable_headers(headers) if name in newer)
    return replace(page, headers=unchanged + added, stored_at=now)


def freshness_s(headers: Headers) -> float:
    """Return the explicit freshness lifetime of an answer; 0 if it has none or it is malformed."""
    cache_control = directives(headers)
    if "max-age" in cache_control:
        return _seconds(cache_control["max-age"])
    expires, date = _first(headers, "expires"), _first(headers, "date")
    ends, began = _moment(expires), _moment(date)
    if ends is None or began is None:
        return 0.0
    return min(max(0.0, ends - began), _MAX_FRESH_S)


def age_s(page: StoredPage, now: float) -> float:
    """Return the age at arrival plus the time since. A clock that was set back does not make a page younger."""
    arrived_with = _seconds(_first(page.headers, "age") or "0")
    date = _moment(_first(page.headers, "date"))
    apparent = max(0.0, page.stored_at - date) if date is not None else 0.0
    since = now - page.stored_at
    return max(arrived_with, apparent) + (since if since >= 0 else _MAX_FRESH_S)


def directives(headers: Headers) -> dict[str, str]:
    """Parse Cache-Control. If a directive is repeated, the shorter time counts."""
    parsed: dict[str, str] = {}
    for part in ",".join(_values(headers, "cache-control")).split(","):
        name, _, text = part.partition("=")
        name, value = name.strip().lower(), text.strip().strip('"')
        parsed[name] = _stricter(parsed[name], value) if name in parsed else value
    return parsed


def _stricter(first: str, second: str) -> str:
    return first if _seconds(first) <= _seconds(second) else second


def _varies_by(headers: Headers) -> set[str]:
    return {part.strip().lower() for value in _values(headers, "vary") for part in value.split(",") if part.strip()}


def _values(headers: Headers, name: str) -> list[str]:
    return [value.strip() for key, value in headers if key == name]


def _first(headers: Headers, name: str) -> str | None:
    return next((value.strip() for key, value in headers if key == name), None)


def _seconds(text: str) -> float:
    # No valid value has more than ten digits, and int() of a megabyte of digits would block.
    return float(min(int(text), _MAX_FRESH_S)) if text.isascii() and text.isdigit() and len(text) <= 10 else 0.0


def _moment(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        when = parsedate_to_datetime(text[:100])
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _weak(etag: str) -> str:
    return etag.removeprefix("W/")
