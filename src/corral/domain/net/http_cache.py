"""When a stored answer may be used again: what a private cache for GET needs of RFC 9111, as pure decisions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum

from corral.domain.redaction import find_secrets

Headers = tuple[tuple[str, str], ...]  # names in lower case

# Final answers that say something about the page. A refusal (401, 403, 429) or a fault is not one to keep.
_KEPT_STATUS = frozenset({200, 203, 404, 410})
# Not written to a disk: what the site would know the next visitor by, and what belongs to one connection only.
_NOT_STORED = frozenset(
    {"set-cookie", "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "upgrade"}
)
# What a 304 does not change: they describe the body it does not carry.
_OF_THE_BODY = frozenset({"content-encoding", "content-length", "content-range", "content-type", "transfer-encoding"})
# Request headers that name nobody. With any other one the answer may be meant for us alone.
_PLAIN_HEADERS = frozenset({"accept", "accept-language", "content-type", "x-requested-with"})
_LONGEST_S = 31_536_000  # a year; what claims more is taken for that


class CacheMode(StrEnum):
    OFF = "off"
    REVALIDATE = "revalidate"  # what is fresh is used, what is stale is asked about
    REPLAY = "replay"  # what was fetched once is used: for developing against a site without asking it again


class CacheUse(StrEnum):
    """What became of a request, as the statistics of its run say it."""

    HIT = "hit"  # answered from disk, no connection
    REVALIDATED = "revalidated"  # the site said that what is on disk still holds
    MISS = "miss"  # fetched


def combine_uses(uses: Iterable[str]) -> str | None:
    """What several requests for one page come to: no better than the least of them."""
    found = set(uses)
    return next((use.value for use in (CacheUse.MISS, CacheUse.REVALIDATED, CacheUse.HIT) if use.value in found), None)


@dataclass(frozen=True, slots=True)
class StoredPage:
    url: str  # where the answer came from, after redirects
    status: int
    headers: Headers
    body: bytes
    chain: tuple[str, ...]
    stored_at: float  # seconds since 1970
    asked_with: Headers  # the request's own headers, for Vary


def may_use_cache(mode: CacheMode, headers: Mapping[str, str], *, has_login: bool) -> bool:
    """False for a request that says who we are: what it is answered is not for the next one."""
    return mode is not CacheMode.OFF and not has_login and all(name.lower() in _PLAIN_HEADERS for name in headers)


def should_store(page: StoredPage, mode: CacheMode) -> bool:
    if page.status not in _KEPT_STATUS or _opens_something(page):
        return False
    if mode is CacheMode.REPLAY:
        return True  # a recording: the site's wishes about reuse are about the present
    told = directives(page.headers)
    # A chain of redirects is as fresh as its most fleeting hop, and of the hops nothing is kept.
    if "no-store" in told or page.chain or "*" in _varies_by(page.headers):
        return False
    return bool(freshness_s(page.headers)) or bool(validators(page))


def _opens_something(page: StoredPage) -> bool:
    """True where an address on the way to it holds a secret: the file of an entry says where it came from."""
    return any(find_secrets(url) for url in (page.url, *page.chain))


def storable_headers(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if name not in _NOT_STORED)


def is_usable(page: StoredPage, mode: CacheMode, headers: Headers, now: float) -> bool:
    """True where it answers the request without asking anybody."""
    if mode is CacheMode.REPLAY:
        return True
    return matches(page, headers) and is_fresh(page, now)


def is_fresh(page: StoredPage, now: float) -> bool:
    if "no-cache" in directives(page.headers):
        return False
    return age_s(page, now) < freshness_s(page.headers)


def matches(page: StoredPage, headers: Headers) -> bool:
    """The request is the one the answer was chosen for, as far as the answer depends on it."""
    names = _varies_by(page.headers)
    return "*" not in names and all(_values(page.asked_with, name) == _values(headers, name) for name in names)


def validators(page: StoredPage) -> dict[str, str]:
    """The headers that ask whether it still holds; none where that cannot be asked."""
    found = {}
    if etag := _first(page.headers, "etag"):
        found["if-none-match"] = etag
    if modified := _first(page.headers, "last-modified"):
        found["if-modified-since"] = modified
    return found


def refresh(page: StoredPage, headers: Headers, now: float) -> StoredPage | None:
    """The page after the site has said 304; None where that speaks of another version than ours."""
    told, ours = _first(headers, "etag"), _first(page.headers, "etag")
    if told is not None and _weak(told) != _weak(ours or ""):
        return None
    newer = {name for name, _ in headers if name not in _OF_THE_BODY}
    kept = tuple((name, value) for name, value in page.headers if name not in newer)
    added = tuple((name, value) for name, value in storable_headers(headers) if name in newer)
    return replace(page, headers=kept + added, stored_at=now)


def freshness_s(headers: Headers) -> float:
    """How long an answer holds by its own words; 0 where it does not say, or not understandably."""
    told = directives(headers)
    if "max-age" in told:
        return _seconds(told["max-age"])
    expires, date = _first(headers, "expires"), _first(headers, "date")
    ends, began = _moment(expires), _moment(date)
    if ends is None or began is None:
        return 0.0
    return min(max(0.0, ends - began), _LONGEST_S)


def age_s(page: StoredPage, now: float) -> float:
    """What it had behind it when it arrived, and what has passed since. A clock set back does not make it younger."""
    arrived_with = _seconds(_first(page.headers, "age") or "0")
    date = _moment(_first(page.headers, "date"))
    apparent = max(0.0, page.stored_at - date) if date is not None else 0.0
    since = now - page.stored_at
    return max(arrived_with, apparent) + (since if since >= 0 else _LONGEST_S)


def directives(headers: Headers) -> dict[str, str]:
    """The directives of Cache-Control. Of two that contradict each other the shorter time counts."""
    told: dict[str, str] = {}
    for part in ",".join(_values(headers, "cache-control")).split(","):
        name, _, text = part.partition("=")
        name, value = name.strip().lower(), text.strip().strip('"')
        told[name] = _stricter(told[name], value) if name in told else value
    return told


def _stricter(one: str, other: str) -> str:
    return one if _seconds(one) <= _seconds(other) else other


def _varies_by(headers: Headers) -> set[str]:
    return {part.strip().lower() for value in _values(headers, "vary") for part in value.split(",") if part.strip()}


def _values(headers: Headers, name: str) -> list[str]:
    return [value.strip() for key, value in headers if key == name]


def _first(headers: Headers, name: str) -> str | None:
    return next((value.strip() for key, value in headers if key == name), None)


def _seconds(text: str) -> float:
    # More than ten digits cannot be meant; int() of a megabyte of digits is an attack.
    return float(min(int(text), _LONGEST_S)) if text.isascii() and text.isdigit() and len(text) <= 10 else 0.0


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
