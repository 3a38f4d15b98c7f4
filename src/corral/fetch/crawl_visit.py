"""One page of a crawl, over HTTP: allowed by robots.txt, fetched, read apart, turned into a record and into links."""

import time
from datetime import UTC, datetime
from typing import Any

import orjson

from corral.domain.canonical import canonical_url, url_key
from corral.domain.crawl import CrawlPlan, ItemState
from corral.domain.errors import BadInput
from corral.domain.item import Ended, Found, Item, short_key
from corral.domain.outcome import Failed, Task
from corral.domain.url import Target, parse_target
from corral.extract.crawling import CrawlAsk
from corral.extract.reading import ReadAnswer, ReadRequest, is_text
from corral.fetch.egress import Egress
from corral.fetch.faults import fault
from corral.fetch.http import fields_of
from corral.fetch.parse_pool import PageReader
from corral.fetch.response import Response
from corral.fetch.robots import Robots
from corral.fetch.verdict import failure_read

_TEXT_CHARS = 2000


class HttpVisitor:
    def __init__(self, egress: Egress, robots: Robots, reader: PageReader, page_s: float = 20.0) -> None:
        self._page_s = page_s
        self._egress = egress
        self._robots = robots
        self._reader = reader

    async def visit(self, item: Item, plan: CrawlPlan, task: Task) -> Ended | Failed:
        began = time.monotonic()
        try:
            target = parse_target(item.url)
        except BadInput as problem:
            return fault("policy:url", problem.message)
        trusted_hosts = frozenset(task.payload.get("trusted_hosts") or ())
        if plan.respect_robots and (refused := await self._refusal(target, trusted_hosts)) is not None:
            return refused
        answer = await self._egress.fetch(target.url, timeout_s=self._page_s, trusted_hosts=trusted_hosts)
        if isinstance(answer, Failed):
            return answer
        ask = CrawlAsk(orjson.dumps(task.payload["crawl"]).decode(), item.depth)
        return await self._read(item, plan, answer, ask, began)

    async def _refusal(self, target: Target, trusted_hosts: frozenset[str]) -> Failed | None:
        """A site that cannot say what it allows allows nothing to somebody who wants all of it."""
        verdict = await self._robots.verdict(target, trusted_hosts=trusted_hosts)
        if verdict.failure is not None:
            return verdict.failure
        if not verdict.is_reachable:
            return fault("policy:robots_unreachable", f"{target.origin}/robots.txt; respect_robots=false overrides it")
        return await self._robots.refusal(target, trusted_hosts=trusted_hosts)

    async def _read(self, item: Item, plan: CrawlPlan, answer: Response, ask: CrawlAsk, began: float) -> Ended | Failed:
        content_type = (answer.header("content-type") or "").split(";")[0].strip().lower()
        if not is_text(content_type, answer.body):
            return Ended(item.id, item.key, ItemState.SKIPPED, "not_a_page", http_status=answer.status)
        asked_url = answer.chain[0] if answer.chain else answer.url
        fields = fields_of({"fields": plan.fields})
        request = ReadRequest(answer.body, answer.url, asked_url, answer.status, answer.headers, fields, crawl=ask)
        left_s = self._page_s - (time.monotonic() - began)
        read = await self._reader.read(request, max(0.0, left_s))
        if isinstance(read, Failed):
            return read
        failure = failure_read(read, {})
        if failure is not None:
            return failure
        return _ended(item, plan, answer, read, took_s=time.monotonic() - began)


def _ended(item: Item, plan: CrawlPlan, answer: Response, read: ReadAnswer, *, took_s: float) -> Ended:
    seen: dict[str, Any] = read.crawled or {}
    target = parse_target(answer.url)
    key = short_key(url_key(target)) if answer.chain else item.key
    if answer.chain and (rule := plan.scope.refuses(canonical_url(target), item.depth)) is not None:
        return Ended(item.id, key, ItemState.SKIPPED, rule, http_status=answer.status, size=answer.raw_bytes)
    found = tuple(Found(*each) for each in seen.get("found", ()))
    if seen.get("is_noindex") and plan.obey_noindex:
        return Ended(item.id, key, ItemState.SKIPPED, "noindex", found=found, http_status=answer.status)
    full_text = seen.get("full_text", "")
    record = {
        "url": answer.url,
        "title": seen.get("title") or read.title,
        "text": full_text[:_TEXT_CHARS],
        "full_text": full_text,
        "depth": item.depth,
        "source": target.host,
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "word_count": seen.get("word_count", 0),
        "char_count": seen.get("char_count", 0),
        "retry_attempt": item.attempt - 1,
        "scrape_duration": round(took_s, 4),
        **read.record,
    }
    return Ended(
        item.id,
        key,
        ItemState.DONE,
        record=record,
        found=found,
        http_status=answer.status,
        size=answer.raw_bytes,
    )
