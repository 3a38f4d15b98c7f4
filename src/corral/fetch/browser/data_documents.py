"""JSON, XML and text documents: a browser displays them in a page of its own, so they are read as sent."""

import time
from dataclasses import dataclass

from corral.domain.fields.spec import FieldSpec
from corral.domain.runs.outcome import Failed
from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.extract.xml.prolog import is_xml, prolog_of
from corral.fetch.browser.visit import Arrival, PageSnapshot, PageVisit
from corral.fetch.faults import fault
from corral.fetch.parsing.pool import PageReader
from corral.fetch.proxy.messages import FAULT_HEADER

# The root element of an XML document is within this size.
_PROLOG_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """How to read a page: its fields, the reader, and the limits."""

    requested_url: str
    fields: tuple[FieldSpec, ...]
    reader: PageReader
    until: float  # on the monotonic clock
    max_chars: int
    crawl: CrawlReadOptions | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    snapshot: PageSnapshot
    request: ReadRequest
    answer: ReadAnswer
    first_at: float  # when a document could first be read


async def read_as_sent(visit: PageVisit, plan: ReadPlan) -> Reading | Failed | None:
    """Read the document byte for byte; None if it is a page or its body is not available."""
    arrival = visit.arrival
    if arrival is None or arrival.error is not None or FAULT_HEADER in arrival.headers or not _is_data(arrival):
        return None
    body = await visit.body(plan.until - time.monotonic())
    if body is None or visit.arrival is not arrival or _is_page(arrival, body):
        return None
    if len(body) > plan.max_chars:
        return fault("limit:body_too_large", f"the document has {len(body)} bytes, {plan.max_chars} allowed")
    status, headers = arrival.status or 200, tuple(arrival.headers.items())
    request = ReadRequest(body, arrival.url, plan.requested_url, status, headers, plan.fields, crawl=plan.crawl)
    answer = await plan.reader.read(request, max(0.0, plan.until - time.monotonic()))
    if isinstance(answer, Failed):
        return answer
    return Reading(PageSnapshot("", len(body), arrival.url, True, True), request, answer, time.monotonic())


def _is_data(arrival: Arrival) -> bool:
    kind = _content_type(arrival)
    return is_xml(kind) or "json" in kind or kind == "text/plain"


def _is_page(arrival: Arrival, body: bytes) -> bool:
    """True for XHTML: its scripts have run, and their result is the requested page."""
    return is_xml(_content_type(arrival)) and prolog_of(body[:_PROLOG_BYTES].decode("utf-8", "replace")).root == "html"


def _content_type(arrival: Arrival) -> str:
    return arrival.headers.get("content-type", "").partition(";")[0].strip().lower()
