"""A stored page of a crawl, read again, and what would change in its records."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.page_archive import ArchivedPage
from corral.domain.errors import BadInput
from corral.domain.net.canonical import canonical_url
from corral.domain.net.url import parse_target
from corral.domain.runs.outcome import Failed
from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.crawl_record import has_no_fields
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.extract.recording import Difference, compare_outputs


@dataclass(frozen=True, slots=True)
class ReparsedPage:
    url: str
    differences: tuple[Difference, ...] = ()
    failure: str | None = None  # the page cannot be read any more, and why

    @property
    def is_changed(self) -> bool:
        return bool(self.differences or self.failure)

    def document(self) -> dict[str, Any]:
        changes = [{"field": each.path, "before": each.expected, "after": each.actual} for each in self.differences]
        told: dict[str, Any] = {"url": self.url, "changes": changes}
        return told if self.failure is None else {**told, "failure": self.failure}


def request_again(page: ArchivedPage, plan: CrawlPlan, packed_plan: str) -> ReadRequest:
    """Ask for the page as the crawl did, at the time of its fetch. `packed_plan` is the document of the plan."""
    requested = page.requested_url or page.url
    return ReadRequest(
        page.body,
        page.url,
        requested,
        page.http_status,
        tuple((name, value) for name, value in page.headers),
        plan.fields_for(_canonical(requested)),
        crawl=CrawlReadOptions(packed_plan, depth=0),
        now=datetime.fromtimestamp(page.fetched_at / 1000, UTC),
    )


def compare_page(
    page: ArchivedPage,
    stored: Sequence[Mapping[str, Any]],
    read: ReadAnswer | Failed,
    plan: CrawlPlan,
    ignored: Collection[str],
) -> ReparsedPage:
    failure = read if isinstance(read, Failed) else read.failure
    if failure is not None:
        reason = f"{failure.code}:{failure.detail}" if failure.detail else failure.code.value
        return ReparsedPage(page.url, failure=reason)
    assert isinstance(read, ReadAnswer)
    if read.refused is not None:
        return ReparsedPage(page.url, failure=f"{read.refused_as}: {read.refused}")
    told = read.crawl_page or {}
    packed = [told.get("record"), *told.get("more", ())]
    if has_no_fields(_canonical(page.requested_url or page.url), plan, read) and not told.get("is_shell"):
        packed = []
    found = [orjson.loads(each) if isinstance(each, str) else each for each in packed if each is not None]
    before, after = [_shorten(each, ignored) for each in stored], [_shorten(each, ignored) for each in found]
    if len(before) == len(after) == 1:
        return ReparsedPage(page.url, tuple(compare_outputs(before[0], after[0])))
    return ReparsedPage(page.url, tuple(compare_outputs(before, after, "records")))


def _shorten(record: Mapping[str, Any], ignored: Collection[str]) -> dict[str, Any]:
    """A value that is not there and one that is null are the same."""
    return {name: value for name, value in record.items() if name not in ignored and value is not None}


def _canonical(url: str) -> str:
    try:
        return canonical_url(parse_target(url))
    except BadInput:
        return url
