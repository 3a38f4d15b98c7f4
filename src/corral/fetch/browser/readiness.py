"""Decide when a page is ready to be read, and build the outcome of reading it."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.fields.own_code import parser_of
from corral.domain.fields.spec import FieldSpec
from corral.domain.net.url import parse_target
from corral.domain.runs.outcome import AttemptOutcome, Failed, Fetched
from corral.domain.runs.retry import CAPTCHA
from corral.domain.runs.status_classes import failure_of_status
from corral.extract.classify.page_classifier import ClassifierInput
from corral.extract.page_reader import ReadRequest, nothing_found, wants_title_only
from corral.fetch.answer_check import failure_behind, failure_read, is_of_code, outcome_of_read
from corral.fetch.browser.data_documents import Reading, ReadPlan, read_as_sent
from corral.fetch.browser.faults import browser_fault, fault_of_net_error
from corral.fetch.browser.visit import Arrival, PageSnapshot, PageVisit
from corral.fetch.faults import fault
from corral.fetch.proxy.messages import FAULT_HEADER, fault_named
from corral.fetch.proxy.passes import ProxyPass

_COST = 100
_POLL_EVERY_S = 0.15
_REST_SHARE = 4
_QUIET_S = 1.0
# A page that loads slowly, or loads on a busy machine, also renders slowly.
_MAX_QUIET_S = 5.0
_QUIET_FACTOR = 3
# How often to check a document that is still loading: it may already be too large.
_LARGE_PAGE_S = 1.0
# By this time, a page that only redirects (meta refresh, script) has begun to navigate.
_RECHECK_S = 0.05
_MAX_TYPE_CHARS = 500
_MAX_REFUSED = 20
_MAX_HEADERS = 200
_MAX_HEADER_BYTES = 64 * 1024
_HTML = ("content-type", "text/html; charset=utf-8")


async def wait_until_ready(visit: PageVisit, granted: ProxyPass, plan: ReadPlan) -> Reading | Failed | None:
    """Return the page once every field is present or it has come to rest; None if there is nothing to read."""
    until, max_chars = plan.until, plan.max_chars
    if visit.arrival is not None and visit.arrival.announced_bytes > max_chars:
        return fault(
            "limit:body_too_large", f"Content-Length is {visit.arrival.announced_bytes} bytes, {max_chars} allowed"
        )
    if (sent := await read_as_sent(visit, plan)) is not None:
        return sent
    reading: Reading | None = None
    while not _is_over(visit, granted):
        await visit.wait_parsed(min(_LARGE_PAGE_S, until - time.monotonic()))
        checked_at = time.monotonic()
        snapshot = None if visit.is_navigating else await visit.snapshot()
        if snapshot is not None:
            read = await _read(visit.arrival, snapshot, plan, reading)
            if isinstance(read, Failed):
                return read
            reading = read
            if _is_ready(visit, reading, checked_at):
                await asyncio.sleep(_RECHECK_S)
                if not visit.is_navigating:
                    return reading
        if time.monotonic() > until:
            return reading if reading is not None and _has_arrived(reading) else out_of_time(granted, max_chars)
        # A large page that never rests must not block the worker.
        await asyncio.sleep(max(_POLL_EVERY_S, _REST_SHARE * (time.monotonic() - checked_at)))
    return reading


def out_of_time(granted: ProxyPass, max_bytes: int) -> Failed:
    """Return the failure of a page that ran out of time: over a limit, or slow."""
    if granted.exceeded is not None:
        return browser_fault("limit:browser", granted.exceeded)
    if granted.bytes_in > max_bytes:
        return fault("limit:body_too_large", f"{granted.bytes_in} bytes and not at its end, {max_bytes} allowed")
    return browser_fault("timeout:browser")


def _is_over(visit: PageVisit, granted: ProxyPass) -> bool:
    """True if no document will arrive."""
    arrival = visit.arrival
    return granted.exceeded is not None or (arrival is not None and arrival.error is not None)


def _has_arrived(reading: Reading) -> bool:
    """True if the document is complete enough: parsed, or with all fields."""
    return reading.snapshot.is_parsed or not reading.answer.missing


def _is_ready(visit: PageVisit, reading: Reading, checked_at: float) -> bool:
    if visit.arrival is not None and not 200 <= (visit.arrival.status or 200) < 300:
        return True  # an error page: only its title is read
    quiet_s = min(_MAX_QUIET_S, max(_QUIET_S, _QUIET_FACTOR * (reading.first_at - visit.load_started_at)))
    is_loaded = reading.snapshot.is_complete or time.monotonic() - reading.first_at > quiet_s
    if not reading.snapshot.is_parsed or not is_loaded:
        return False
    # Without page fields, with custom code, or in a crawl, a page is ready when it has come to rest.
    fields = reading.request.fields
    has_own = any(spec.depends_on_page for spec in fields)
    waits = not has_own or parser_of(fields) is not None or reading.request.crawl is not None
    has_all = not waits and not reading.answer.missing
    # The page was at rest when it was checked; it may have changed during a slow reading.
    return has_all or visit.quiet_s() - (time.monotonic() - checked_at) > quiet_s


async def read_again(visit: PageVisit, plan: ReadPlan, before: Reading, html: str | None = None) -> Reading | Failed:
    """Read the page again, or `html` in its place; returns `before` if there is no document."""
    snapshot = None if visit.is_navigating else await visit.snapshot()
    if snapshot is not None and html is not None:
        snapshot = replace(snapshot, html=html, size=len(html))
    return before if snapshot is None else await _read(visit.arrival, snapshot, plan, before)


async def _read(
    arrival: Arrival | None, snapshot: PageSnapshot, plan: ReadPlan, before: Reading | None
) -> Reading | Failed:
    if snapshot.size > plan.max_chars:
        message = f"the rendered page has {snapshot.size} characters, {plan.max_chars} allowed"
        return fault("limit:body_too_large", message)
    if before is not None and (before.snapshot.html, before.snapshot.url) == (snapshot.html, snapshot.url):
        return replace(before, snapshot=snapshot)
    first_at = before.first_at if before is not None else time.monotonic()
    request = _request(arrival, snapshot, plan)
    answer = await plan.reader.read(request)
    return answer if isinstance(answer, Failed) else Reading(snapshot, request, answer, first_at)


def _request(arrival: Arrival | None, snapshot: PageSnapshot, plan: ReadPlan) -> ReadRequest:
    """Build the request from the browser's document, which is HTML in UTF-8 whatever encoding the server used."""
    headers = tuple(arrival.headers.items()) if arrival else ()
    return ReadRequest(
        snapshot.html.encode("utf-8", "replace"),
        snapshot.url,
        plan.requested_url,
        (arrival.status if arrival else None) or 200,
        (_HTML, *((name, value) for name, value in headers if name != "content-type")),
        plan.fields,
        should_classify=arrival is not None,
        crawl=plan.crawl,
    )


def outcome_of(  # noqa: PLR0917 - the parts of one visit
    arrival: Arrival | None,
    granted: ProxyPass,
    fields: tuple[FieldSpec, ...],
    reading: Reading | Failed | None,
    timings: dict[str, int],
    requested_url: str,
) -> AttemptOutcome:
    stats = _stats(arrival, granted, reading, timings)
    if granted.exceeded is not None:
        return browser_fault("limit:browser", granted.exceeded, **stats)
    if arrival is None:
        return browser_fault("timeout:browser", "no document arrived", **stats)
    failure = _failure_of(arrival, granted, stats)
    if failure is not None:
        return _captcha_of(reading, failure) or failure
    if isinstance(reading, Failed):
        return replace(reading, stats={**stats, **reading.stats})
    if reading is None:
        # An answer without a document, such as 204; the page did not change.
        nothing = nothing_found(fields)
        return Fetched(stats, (nothing.record,), nothing.missing)
    if not reading.snapshot.url.startswith(("http://", "https://")):
        return fault("policy:scheme", "the page navigated away from http and https", **stats)
    stats |= reading.answer.notes()
    failure = _failure_behind(arrival, reading, requested_url, stats)
    answer = reading.answer
    return failure or outcome_of_read(answer, stats, answer.raw)


def _captcha_of(reading: Reading | Failed | None, failure: Failed) -> Failed | None:
    """Return a captcha as the failure behind a 403 or 429: a person can solve it."""
    found = reading.answer.failure if isinstance(reading, Reading) else None
    if found is None or found.detail != CAPTCHA or failure.http_status is None:
        return None
    return replace(found, http_status=failure.http_status, retry_after=failure.retry_after, stats=failure.stats)


def _failure_behind(arrival: Arrival, reading: Reading, requested_url: str, stats: dict[str, Any]) -> Failed | None:
    """Return the failure that the reader found, or classify again if the status has changed since."""
    request = reading.request
    status = arrival.status or 200
    if request.should_classify and request.status == status:
        return failure_read(reading.answer, stats)
    html, url = reading.snapshot.html, reading.snapshot.url
    only_title = wants_title_only(request.fields)
    page = ClassifierInput(
        status, arrival.headers, "text/html", url, requested_url, html, reading.answer.title, only_title
    )
    failure = failure_behind(page, reading.answer.missing, stats)
    return failure or (failure_read(reading.answer, stats) if is_of_code(reading.answer.failure) else None)


def _failure_of(arrival: Arrival, granted: ProxyPass, stats: dict[str, Any]) -> Failed | None:
    failure = _proxy_failure(arrival, granted)
    if failure is None and arrival.error == "ABORTED" and 200 <= (arrival.status or 0) < 300:
        if arrival.status not in (204, 205):
            refused = "the address is a download, and downloads are refused"
            failure = browser_fault("limit:browser", refused, is_download=True)
    elif failure is None and arrival.error is not None:
        failure = fault_of_net_error(arrival.error)
    # Our proxy checks this, but not inside a tunnel.
    if failure is None and (len(arrival.headers) > _MAX_HEADERS or _size_of(arrival.headers) > _MAX_HEADER_BYTES):
        failure = fault("bad_response:headers", f"{len(arrival.headers)} headers, {_size_of(arrival.headers)} bytes")
    if failure is not None:
        return replace(failure, stats={**stats, **failure.stats})
    # A document without a status came from no server; the scheme is checked later.
    return failure_of_status(arrival.status or 200, retry_after=arrival.headers.get("retry-after"), stats=stats)


def _size_of(headers: Mapping[str, str]) -> int:
    return sum(len(name) + len(value) + 4 for name, value in headers.items())


def _proxy_failure(arrival: Arrival, granted: ProxyPass) -> Failed | None:
    """Return our proxy's reason for refusing the page; Chromium does not know it."""
    if arrival.error is None and FAULT_HEADER not in arrival.headers:
        return None
    try:
        target = parse_target(arrival.url, max_chars=len(arrival.url))
    except BadInput:
        return granted.unreadable
    # Inside a tunnel, the target itself could have sent this header.
    named = fault_named(arrival.headers.get(FAULT_HEADER)) if target.scheme == "http" else None
    return granted.faults.get((target.host, target.port)) or named


def _stats(
    arrival: Arrival | None, granted: ProxyPass, reading: Reading | Failed | None, timings: dict[str, int]
) -> dict[str, Any]:
    stats: dict[str, Any] = {
        "http_status": arrival.status if arrival else None,
        "content_type": _content_type(arrival) if arrival else None,
        "content_length": None,
        "title": None,
        "final_url": arrival.url if arrival else None,
        "browser": "chromium",
        "redirects": arrival.redirects if arrival else 0,
        "requests": granted.requests,
        "bytes": granted.bytes_in,
        "cost": _COST,
        "timings": timings,
    }
    if granted.refused:
        stats["refused"] = granted.refused[:_MAX_REFUSED]
    if isinstance(reading, Reading):
        stats["content_length"] = len(reading.request.body)
        stats["title"] = reading.answer.title
        stats["final_url"] = reading.snapshot.url
    return stats


def _content_type(arrival: Arrival) -> str | None:
    return arrival.headers.get("content-type", "").split(";")[0].strip().lower()[:_MAX_TYPE_CHARS] or None
