"""Fetch one page of a crawl over HTTP: check robots.txt, fetch, parse, and build the record and the links."""

import functools
import time
from dataclasses import replace

import orjson

from corral.domain.crawl.crawl import (
    CrawlPlan,
    ItemState,
)
from corral.domain.crawl.item import (
    PAGE,
    Change,
    Item,
    ItemResult,
)
from corral.domain.crawl.item_decision import is_of_page
from corral.domain.crawl.job_pages import Listing
from corral.domain.crawl.payload import CrawlHelperPayload, CrawlPayload
from corral.domain.crawl.scope import Refusal
from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.hosts.limiter import UNLIMITED, HostAccess
from corral.domain.hosts.order import QueuedPage
from corral.domain.lists.position import listing_position
from corral.domain.lists.progress import ListProgress
from corral.domain.net.canonical import canonical_url
from corral.domain.net.url import Target, parse_target
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Deferred, Failed, Fetched, Outcome
from corral.domain.runs.run import CRAWL_HELPER
from corral.domain.sites.recipe.recipe import ReplayRequest
from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.links import header_directives
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.fetch.answer_check import failure_read
from corral.fetch.crawl.conditional_requests import conditions
from corral.fetch.crawl.files import FileKeeper, is_file
from corral.fetch.crawl.list_result import result_of_listing
from corral.fetch.crawl.page_result import result_of_page
from corral.fetch.crawl.sitemaps import SitemapVisitor
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import CostMeter, FetchContext, FetchRequest, Route
from corral.fetch.faults import fault
from corral.fetch.http import context_of
from corral.fetch.parsing.pool import PageReader
from corral.fetch.response import Response
from corral.fetch.robots import Robots, without_rules

_MAX_PLANS = 64
_OK = 200
_NOT_MODIFIED = 304
_SCRIPT_S = 5.0
_SCRIPT_BYTES = 1024 * 1024
_SUCCESS: Outcome = Fetched()


class HttpVisitor:
    def __init__(
        self,
        egress: Egress,
        robots: Robots,
        reader: PageReader,
        page_s: float = 20.0,
        *,
        host_access: HostAccess = UNLIMITED,
        files: FileKeeper | None = None,
    ) -> None:
        self._host_access = host_access
        self._files = files or FileKeeper(None, egress.limits.max_bytes)
        self._page_s = page_s
        self._plans: dict[int, tuple[CrawlPlan, str]] = {}
        self._egress = egress
        self._robots = robots
        self._reader = reader
        self._sitemaps = SitemapVisitor(egress, robots, reader, page_s)

    async def visit(
        self,
        item: Item,
        plan: CrawlPlan,
        task: Task,
        route: Route | None = None,
        *,
        progress: ListProgress | None = None,
        meter: CostMeter | None = None,
    ) -> ItemResult | Failed | Deferred:
        """Fetch the page of an item; `progress` is the progress of the list that the crawl follows.

        `task` has the opened session of the crawl; `route` uses its proxy, or accepts any certificate.
        """
        if task.slots is not None:
            await task.slots.take(item.id)
        host_visit, outcome = self._host_access.visit(plan.concurrency, page_in_order(item, task)), None
        try:
            result = await self._visit_page(
                item, plan, task, context_of(task, route, visit=host_visit, meter=meter), progress
            )
            outcome = _SUCCESS if isinstance(result, ItemResult) else result
            return result
        finally:
            # A retry that the host refuses again adds no information about the host.
            is_repeated = item.attempt > 1 and isinstance(outcome, Failed) and is_of_page(outcome)
            host_visit.end(None if is_repeated else outcome)

    async def _visit_page(
        self, item: Item, plan: CrawlPlan, task: Task, context: FetchContext, progress: ListProgress | None
    ) -> ItemResult | Failed | Deferred:
        began = time.monotonic()
        listing = listing_position(item.kind)
        if item.kind != PAGE and listing is None:
            return await self._sitemaps.visit(item, plan, task, context)
        try:
            target = parse_target(item.url)
        except BadInput as problem:
            return fault("policy:url", problem.message)
        refusal = functools.partial(self._refusal, context=context, is_last=item.attempt >= plan.retry_attempts)
        if plan.respect_robots and (refused := await refusal(target)) is not None:
            return refused

        async def check(following: Target) -> Failed | Deferred | None:
            rule = None if following.host == target.host else plan.scope.refuses(canonical_url(following), item.depth)
            if rule is Refusal.OUT_OF_SCOPE:
                return fault("policy:out_of_scope", following.origin)
            return await refusal(following) if plan.respect_robots else None

        headers, body_limit = headers_of(plan), self._files.body_limit(plan)
        request = FetchRequest(target.url, self._page_s, headers, check_redirect=check, body_limit=body_limit)
        validators = conditions(item)
        conditional = replace(request, headers={**headers, **validators}) if validators else request
        answer = await self._egress.fetch(conditional, context)
        if isinstance(answer, Response) and answer.status == _NOT_MODIFIED and answer.chain:
            # The 304 is about the redirect target, which is not the page recorded before.
            answer = await self._egress.fetch(request, context)
        if not isinstance(answer, Response):
            return _skip_outside(item, answer)
        _free_slots(item, task, context, answer)
        if answer.status == _NOT_MODIFIED and item.earlier_version is not None:
            result = ItemResult(item.id, item.key, ItemState.DONE, http_status=answer.status, size=answer.raw_bytes)
            return result._replace(version=item.earlier_version, change=Change.UNCHANGED)
        if is_file(answer.headers, answer.body):
            tags = (value for name, value in answer.headers if name == "x-robots-tag")
            noindex, _ = header_directives(tags, self._egress.user_agent)
            return await self._files.finish(item, plan, answer, _crawl_id(task), noindex=noindex)
        read = await self._read(
            item, plan, answer, self.read_options(item, plan, task, began), began, meter=context.meter
        )
        return read if isinstance(read, Failed) else decide_result(item, plan, answer, read, progress)

    async def script(self, url: str, plan: CrawlPlan, task: Task, route: Route | None) -> str:
        """Return the text of a script file, or an empty string. Scripts are inspected, never run."""
        host_visit = self._host_access.visit(plan.concurrency)
        context = context_of(task, route, visit=host_visit)
        try:
            target = parse_target(url)
            if plan.respect_robots and await self._robots.refusal(target, context) is not None:
                return ""
            request = FetchRequest(target.url, _SCRIPT_S, headers_of(plan), max_bytes=_SCRIPT_BYTES, truncate=True)
            answer = await self._egress.fetch(request, context)
        except BadInput:
            return ""
        finally:
            host_visit.end(None)
        if not isinstance(answer, Response) or answer.status != _OK:
            return ""
        return answer.body.decode("utf-8", "replace")

    async def send_call(
        self, call: ReplayRequest, plan: CrawlPlan, task: Task, route: Route | None
    ) -> Response | Failed | Deferred:
        """Make an API call of a page over HTTP, with the crawl's session, robots.txt and the host limiter."""
        host_visit, outcome = self._host_access.visit(plan.concurrency), None
        context = context_of(task, route, visit=host_visit)
        try:
            target = parse_target(call.url, max_chars=8192)
            if plan.respect_robots and (refused := await self._robots.refusal(target, context)) is not None:
                return refused
            body = orjson.dumps(call.body) if call.method == "POST" else None
            headers = {"accept": "application/json", **headers_of(plan), **call.headers}
            answer = await self._egress.fetch(FetchRequest(target.url, self._page_s, headers, body=body), context)
            outcome = _SUCCESS if isinstance(answer, Response) else answer
            return answer
        except BadInput as problem:
            return fault("policy:url", problem.message)
        finally:
            host_visit.end(outcome)

    def read_options(self, item: Item, plan: CrawlPlan, task: Task, began: float) -> CrawlReadOptions:
        """Return the options for parsing the page of an item."""
        plan_json, listing = self._pack_plan(plan, task), listing_position(item.kind)
        return CrawlReadOptions(plan_json, item.depth, item.attempt, began, 0, listing, self._egress.user_agent)

    def _pack_plan(self, plan: CrawlPlan, task: Task) -> str:
        """Serialize the plan. Memo: a running crawl always passes the same immutable plan."""
        entry = self._plans.get(id(plan))
        if entry is None:
            while len(self._plans) >= _MAX_PLANS:
                del self._plans[next(iter(self._plans))]
            entry = self._plans[id(plan)] = (plan, orjson.dumps(task.payload.read(CrawlPayload).plan_document).decode())
        return entry[1]

    async def refusal(
        self, item: Item, plan: CrawlPlan, task: Task, route: Route | None = None
    ) -> Failed | Deferred | None:
        """Return why robots.txt forbids the page of an item, for callers that fetch the page in another way."""
        try:
            target = parse_target(item.url)
        except BadInput as problem:
            return fault("policy:url", problem.message)
        host_visit, is_last = (
            self._host_access.visit(plan.concurrency, page_in_order(item, task)),
            item.attempt >= plan.retry_attempts,
        )
        try:
            return await self._refusal(target, context_of(task, route, visit=host_visit), is_last=is_last)
        finally:
            host_visit.end(None)

    async def _refusal(self, target: Target, context: FetchContext, *, is_last: bool) -> Failed | Deferred | None:
        """Return why robots.txt forbids a page. An unreachable robots.txt forbids every page of the site."""
        rules = await self._robots.load_rules(target, context)
        if not rules.is_reachable:
            return without_rules(target, rules.failure, is_last=is_last)
        return await self._robots.refusal(target, context)

    async def _read(
        self,
        item: Item,
        plan: CrawlPlan,
        answer: Response,
        options: CrawlReadOptions,
        began: float,
        *,
        meter: CostMeter | None,
    ) -> ReadAnswer | Failed:
        requested_url = answer.chain[0] if answer.chain else answer.url
        fields = fields_wanted(plan, options, item.url)
        response_args = (answer.body, answer.url, requested_url, answer.status, answer.headers, fields)
        request = ReadRequest(*response_args, crawl=options, memory_mib=plan.memory_mib or 0)
        left_s = self._page_s - (time.monotonic() - began)
        read = await self._reader.read(request, max(0.0, left_s))
        if isinstance(read, Failed):
            return read
        if meter is not None:
            meter.cpu_ms += read.cpu_ms
        return failure_read(read, {}) or read


def decide_result(
    item: Item,
    plan: CrawlPlan,
    answer: Response,
    read: ReadAnswer,
    progress: ListProgress | None = None,
    *,
    is_rendered: bool = False,
) -> ItemResult | Failed:
    """Return the result of a page, or of a list page, that was fetched and parsed."""
    if listing_position(item.kind) is not None:
        return result_of_listing(item, plan, answer, read, progress or ListProgress())
    return result_of_page(item, plan, answer, read, is_rendered=is_rendered)


def _skip_outside(item: Item, failure: Failed | Deferred) -> ItemResult | Failed | Deferred:
    """Skip a redirect out of the scope of the crawl; it is not a failure."""
    is_outside = isinstance(failure, Failed) and failure.detail == Refusal.OUT_OF_SCOPE
    return ItemResult(item.id, item.key, ItemState.SKIPPED, Refusal.OUT_OF_SCOPE) if is_outside else failure


def _free_slots(item: Item, task: Task, context: FetchContext, answer: Response) -> None:
    """Free the slots of a successful page while it is parsed.

    Any other response keeps them until the host limiter has its outcome, because that may slow the host down.
    """
    if not 200 <= answer.status < 300:
        return
    if context.visit is not None:
        context.visit.free_slots()
    if task.slots is not None:
        task.slots.free(item.id)


def headers_of(plan: CrawlPlan) -> dict[str, str]:
    return {} if plan.user_agent is None else {"user-agent": plan.user_agent}


def page_in_order(item: Item, task: Task) -> QueuedPage | None:
    return None if task.order is None else task.order.page(item.id)


def _crawl_id(task: Task) -> str:
    """Return the id of the crawl run, even from within a helper."""
    return task.payload.read(CrawlHelperPayload).crawl_run if task.kind == CRAWL_HELPER else task.run_id


def fields_wanted(plan: CrawlPlan, options: CrawlReadOptions, url: str) -> tuple[FieldSpec, ...]:
    """Return the links to read from a list page, or the fields of the plan for any other page."""
    if options.listing is not None and plan.listing is not None:
        return Listing.of(plan.listing).fields
    return plan.fields_for(url)
