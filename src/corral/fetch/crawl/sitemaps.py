"""Read sitemaps, and the robots.txt that names them: documents that lead to pages without being pages."""

import time

import orjson

from corral.domain.crawl.crawl import SITEMAP, SITEMAP_CUT, CrawlPlan, ItemState
from corral.domain.crawl.item import DiscoveredLink, Item, ItemResult, sitemap_kind, sitemap_level
from corral.domain.crawl.payload import CrawlPayload
from corral.domain.crawl.scope import Refusal
from corral.domain.errors import BadInput
from corral.domain.net.canonical import canonical_url, link_to
from corral.domain.net.url import Target, parse_target
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Deferred, Failed
from corral.domain.runs.status_classes import failure_of_status
from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.page_reader import ReadRequest
from corral.extract.sitemap import MAX_BYTES, sitemap_key
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext, FetchRequest
from corral.fetch.faults import fault
from corral.fetch.parsing.pool import PageReader
from corral.fetch.response import Response
from corral.fetch.robots import Robots

_MAX_NAMED = 1_000


class SitemapVisitor:
    def __init__(self, egress: Egress, robots: Robots, reader: PageReader, page_s: float) -> None:
        self._page_s = page_s
        self._egress = egress
        self._robots = robots
        self._reader = reader

    async def visit(
        self, item: Item, plan: CrawlPlan, task: Task, context: FetchContext
    ) -> ItemResult | Failed | Deferred:
        try:
            target = parse_target(item.url)
        except BadInput as problem:
            return fault("policy:url", problem.message)
        level = sitemap_level(item.kind)
        if level is None:
            return await self._read_robots(item, target, context)
        plan_json = orjson.dumps(task.payload.read(CrawlPayload).plan_document).decode()
        options = CrawlReadOptions(plan_json, item.depth, level=level)

        async def check(following: Target) -> Failed | None:
            """Refuse a redirect to a URL that the crawl would not follow as a link."""
            is_same = following.host == target.host
            if not is_same and plan.scope.refuses(canonical_url(following), item.depth) is Refusal.OUT_OF_SCOPE:
                return fault("policy:out_of_scope", following.origin)
            refusal = self._robots.refusal if plan.respect_robots else None
            return await refusal(following, context) if refusal else None

        headers = {} if plan.user_agent is None else {"user-agent": plan.user_agent}
        request = FetchRequest(target.url, self._page_s, headers, check_redirect=check, max_bytes=MAX_BYTES)
        return await self._read_sitemap(item, options, request, context)

    async def _read_robots(self, item: Item, target: Target, context: FetchContext) -> ItemResult | Deferred:
        """Return the sitemaps that robots.txt names, and /sitemap.xml."""
        rules = await self._robots.load_rules(target, context)
        if isinstance(rules.failure, Deferred):
            return rules.failure
        named = [] if rules.parser is None else list(rules.parser.sitemaps)[:_MAX_NAMED]
        found: dict[str, DiscoveredLink] = {}
        for reference in [*named, "/sitemap.xml"]:
            link = link_to(target, reference)
            if link is not None:
                host = link.url[link.url.find("//") + 2 :].partition("/")[0]
                key = sitemap_key(link.key)
                found.setdefault(key, DiscoveredLink(link.url, key, host, 0, kind=sitemap_kind(1)))
        message = f"robots.txt names {len(named)} sitemaps"
        return ItemResult(item.id, item.key, ItemState.SKIPPED, SITEMAP, message, found=tuple(found.values()))

    async def _read_sitemap(
        self, item: Item, options: CrawlReadOptions, fetch_request: FetchRequest, context: FetchContext
    ) -> ItemResult | Failed | Deferred:
        began = time.monotonic()
        answer = await self._egress.fetch(fetch_request, context)
        if not isinstance(answer, Response):
            return answer
        failure = failure_of_status(answer.status, retry_after=answer.header("retry-after"))
        if failure is not None:
            return failure
        request = ReadRequest(answer.body, answer.url, item.url, answer.status, answer.headers, crawl=options)
        parsed = await self._reader.read(request, max(0.0, self._page_s - (time.monotonic() - began)))
        if isinstance(parsed, Failed):
            return parsed
        content = parsed.crawl_page or {}
        found = tuple(DiscoveredLink(*each) for each in content.get("found", ()))
        message = f"{content.get('listed', 0)} addresses, {len(found)} of them taken"
        rule = SITEMAP
        if content.get("is_cut"):
            rule, message = SITEMAP_CUT, f"{message}; the file is cut off, so later URLs are unknown"
        result = ItemResult(item.id, item.key, ItemState.SKIPPED, rule, message, found=found, http_status=answer.status)
        return result._replace(size=answer.raw_bytes, dropped=content.get("dropped", 0))
