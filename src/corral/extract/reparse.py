"""Read a stored page of a crawl again, and compare the records with the stored ones."""

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
    failure: str | None = None  # why the page cannot be read any more

    @property
    def is_changed(self) -> bool:
        return bool(self.differences or self.failure)

    def document(self) -> dict[str, Any]:
        changes = [{"field": each.path, "before": each.expected, "after": each.actual} for each in self.differences]
        document: dict[str, Any] = {"url": self.url, "changes": changes}
        return document if self.failure is None else {**document, "failure": self.failure}


def request_again(page: ArchivedPage, plan: CrawlPlan, packed_plan: str) -> ReadRequest:
    """Build the request that reads the page as the crawl did, at the time of its fetch.

    `packed_plan` is the document of the plan.
    """
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
    crawl_page = read.crawl_page or {}
    packed = [crawl_page.get("record"), *crawl_page.get("more", ())]
    if has_no_fields(_canonical(page.requested_url or page.url), plan, read) and not crawl_page.get("is_shell"):
        packed = []
    found = [orjson.loads(each) if isinstance(each, str) else each for each in packed if each is not None]
    before, after = [_drop_ignored(each, ignored) for each in stored], [_drop_ignored(each, ignored) for each in found]
    if len(before) == len(after) == 1:
        return ReparsedPage(page.url, tuple(compare_outputs(before[0], after[0])))
    return ReparsedPage(page.url, tuple(compare_outputs(before, after, "records")))


def _drop_ignored(record: Mapping[str, Any], ignored: Collection[str]) -> dict[str, Any]:
    """Return the record without the ignored fields and without nulls: an absent value equals null."""
    return {name: value for name, value in record.items() if name not in ignored and value is not None}


def _canonical(url: str) -> str:
    try:
        return canonical_url(parse_target(url))
    except BadInput:
        return url
