"""Choose how to fetch each page of a crawl: over HTTP, by a recipe, or in the browser if it needs JavaScript."""

import asyncio
import functools
import time
from dataclasses import dataclass, field, replace
from typing import Any

from corral.domain.crawl.crawl import SHELL, CrawlPlan, ItemState
from corral.domain.crawl.item import PAGE, Item, ItemResult
from corral.domain.crawl.payload import CrawlPayload
from corral.domain.crawl.script_samples import compare, unite
from corral.domain.crawl.script_signs import ScriptSigns
from corral.domain.crawl.templates.traps import template_of
from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.hosts.limiter import UNLIMITED, HostAccess, host_key_of_url
from corral.domain.jobs.job import Strategy
from corral.domain.lists.position import listing_position
from corral.domain.lists.progress import ListProgress
from corral.domain.net.url import parse_target
from corral.domain.ports.execution import Executor, Task
from corral.domain.redaction import redact_result_url
from corral.domain.runs.outcome import Deferred, Failed, Fetched, Outcome
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import PAGE as PAGE_RUN
from corral.domain.sites.recipe.recipe import ReplayRequest, matches
from corral.domain.sites.session import SessionState
from corral.fetch.browser.crawl_page import Rendering, ScrollPlan
from corral.fetch.crawl.list_replay import replay_list
from corral.fetch.crawl.metering import add_cost, count_browser, count_requests
from corral.fetch.crawl.script_check import LoadScript, ScriptCheck, is_checked, report_unrun
from corral.fetch.crawl.scrolling import PROBE_STEPS, may_replay, needs_browser, report_cut, scroll_plan
from corral.fetch.crawl.visit import HttpVisitor, decide_result, fields_wanted, page_in_order
from corral.fetch.egress.context import CostMeter, Route
from corral.fetch.proxy.pool_session import PoolAccess
from corral.fetch.proxy.route import Proxies
from corral.fetch.response import Response
from corral.fetch.sessions import SessionKeys, mark_expired_session

_MAX_TEMPLATES = 10_000
_MAX_RECIPES = 50
_LONGER_RATIO = 1.2


@dataclass(frozen=True, slots=True)
class Ways:
    """The available ways to fetch a page: `browser` renders it, `replay` makes the calls of a recipe instead."""

    http: HttpVisitor
    browser: Executor
    replay: Executor
    browser_s: float = 30.0
    browsers: int = 2  # concurrent pages in the browser of this worker
    host_access: HostAccess = UNLIMITED
    keys: SessionKeys = field(default_factory=SessionKeys)
    proxies: Proxies | None = None
    pool: PoolAccess | None = None


@dataclass(slots=True)
class _Browsing:
    """The browser usage of a crawl, shared by its pages."""

    rendered: int = 0
    is_available: bool = True


@dataclass(slots=True, eq=False)
class RunVisitor:
    ways: Ways
    slots: asyncio.Semaphore  # acquired before the time limit of a page starts
    plan: CrawlPlan
    task: Task
    route: Route | None = None
    scripted: dict[str, None] = field(default_factory=dict)  # templates whose pages need the browser
    check: ScriptCheck = field(default_factory=ScriptCheck)
    browsing: _Browsing = field(default_factory=_Browsing)
    recipes: list[dict[str, Any]] = field(default_factory=list)
    progress: ListProgress = field(default_factory=ListProgress)
    next_request_at: dict[str, float] = field(default_factory=dict)  # by host: when its next page may be requested
    meters: dict[int, CostMeter] = field(default_factory=dict)  # by the id of the item under way

    def __post_init__(self) -> None:
        self.recipes += self.task.payload.read(CrawlPayload).recipes

    async def visit(self, item: Item, plan: CrawlPlan, task: Task) -> ItemResult | Failed | Deferred:  # noqa: ARG002 - one per crawl
        if self.plan.delay_s:
            await self._wait_for_delay(item.url, self.plan.delay_s)
        meter = self.meters[item.id] = CostMeter()
        try:
            result = add_cost(await self._visit_by_strategy(item), meter)
        finally:
            del self.meters[item.id]
        if isinstance(result, Failed) and isinstance(self.task.session, SessionState):
            dead = mark_expired_session(result)
            return dead if isinstance(dead, Failed) else result
        return result

    async def _wait_for_delay(self, url: str, delay_s: float) -> None:
        """Wait for delay_s. Only one worker reads a host at a time, so this delay holds for the whole crawl."""
        host, now = host_key_of_url(url) or "", time.monotonic()
        start_at = max(now, self.next_request_at.get(host, now))
        self.next_request_at[host] = start_at + delay_s
        await asyncio.sleep(start_at - now)

    async def _visit_by_strategy(self, item: Item) -> ItemResult | Failed | Deferred:
        strategy = self.plan.strategy
        is_page = item.kind == PAGE or listing_position(item.kind) is not None
        if strategy == Strategy.HTTP or not is_page:
            return await self._fetch(item)
        if strategy == Strategy.BROWSER or needs_browser(self.plan, item):
            return await self._render(item)
        return await self._visit_by_need(item)

    async def _fetch(self, item: Item) -> ItemResult | Failed | Deferred:
        return await self.ways.http.visit(
            item, self.plan, self.task, self.route, progress=self.progress, meter=self.meters.get(item.id)
        )

    async def _visit_by_need(self, item: Item) -> ItemResult | Failed | Deferred:
        """Fetch the page in the cheapest way that returns the requested content."""
        if (replayed := await self._replay(item)) is not None:
            return replayed
        template = template_of(item.url)
        if template in self.scripted and self._may_render():
            return await self._render(item)
        result = await self._fetch(item)
        if not _needs_scripts(result):
            return await self._render_for_more(item, result, template)
        if not self._may_render():
            return result
        rendered = await self._render(item)
        if self._is_unavailable(rendered):
            return result
        if isinstance(rendered, ItemResult):
            self.scripted[template] = None
            while len(self.scripted) > _MAX_TEMPLATES:
                del self.scripted[next(iter(self.scripted))]
        return rendered

    async def _render_for_more(
        self, item: Item, result: ItemResult | Failed | Deferred, template: str
    ) -> ItemResult | Failed | Deferred:
        """Render a page that was read over HTTP if its scripts may add to it, and keep the result if it contains more.

        The page of a list item already has its fields, so only a field with several values can lack some.
        """
        is_item = self.plan.listing is not None and item.kind == PAGE
        if not isinstance(result, ItemResult) or result.signals is None or not is_checked(result):
            return result
        if is_item and not any(spec.all or spec.is_code for spec in self.plan.fields_for(item.url)):
            return result
        self._free_slot(item)
        load = functools.partial(self._load_script, item=item)
        if not is_item and (scrolled := await self._scroll_for_more(item, result, template, load)) is not None:
            return scrolled
        signs = result.signals.signs
        inserts, is_likely = (
            (False, False) if signs is None else await self.check.may_insert(result.signals, signs, load)
        )
        if signs is None or not inserts:
            return result
        return await self._sample(item, result, signs, is_likely=is_likely)

    async def _scroll_for_more(
        self, item: Item, result: ItemResult, template: str, load: LoadScript
    ) -> ItemResult | Failed | Deferred | None:
        """Render and scroll a page whose scripts may load more; None for any other page.

        Pages of a template wait for each other until one of them has gained something.
        """
        assert result.signals is not None
        if not self._may_render():
            may_load = result.signals.loads_more and not self.check.is_gainless(template)
            return report_unrun(result, is_likely=True) if may_load else None
        async with self.check.lock(f"more of {template}"):
            if not await self.check.may_load_more(result.signals, template, load):
                return None
            if template not in self.check.gaining:
                return await self._render_and_scroll(item, result, template)
        return await self._render_and_scroll(item, result, template)

    async def _render_and_scroll(self, item: Item, result: ItemResult, template: str) -> ItemResult | Failed | Deferred:
        rendered = await self._render(item)
        if isinstance(rendered, Deferred):
            return rendered
        if self._is_unavailable(rendered) or isinstance(rendered, Failed):
            return report_unrun(result, rendered.message if isinstance(rendered, Failed) else "", is_likely=True)
        is_more = _has_more_than(rendered, result)
        self.check.note_scrolling(template, is_gain=is_more)
        return rendered if is_more or compare(rendered, result).is_content else result

    async def _sample(
        self, item: Item, result: ItemResult, signs: ScriptSigns, *, is_likely: bool
    ) -> ItemResult | Failed | Deferred:
        """Render the page if it is a sample. Other pages of its group wait for the first verdict."""
        group, samples = signs.group_of(template_of(item.url)), self.check.samples
        async with self.check.lock(group):
            if not self._may_render():
                return report_unrun(result, is_likely=is_likely or samples.adds_content(group))
            if not samples.wants(group, signs, is_likely=is_likely):
                is_open = samples.is_unchecked(group)
                return report_unrun(result, is_likely=is_likely) if is_open else result
            if not samples.adds_content(group):
                return await self._compare(item, result, signs, group, is_likely=is_likely)
        return await self._compare(item, result, signs, group, is_likely=True)

    async def _compare(
        self, item: Item, result: ItemResult, signs: ScriptSigns, group: str, *, is_likely: bool
    ) -> ItemResult | Failed | Deferred:
        rendered = await self._render(item)
        if isinstance(rendered, Deferred):
            return rendered
        if self._is_unavailable(rendered) or isinstance(rendered, Failed):
            self.check.samples.note_failure()
            why = rendered.message if isinstance(rendered, Failed) else ""
            return report_unrun(result, why, is_likely=is_likely)
        verdict = self.check.samples.note(group, signs, compare(rendered, result))
        if not verdict.has_more:
            return result
        united = unite(rendered, result)
        why = f"up to {verdict.missed} pages like this one were read before without a browser"
        return report_unrun(united, why, is_likely=True) if verdict.missed else united

    def _is_unavailable(self, rendered: ItemResult | Failed | Deferred) -> bool:
        if isinstance(rendered, Failed) and rendered.detail == "strategy_unavailable":
            self.browsing.is_available = False
        return not self.browsing.is_available

    async def _load_script(self, url: str, item: Item) -> str:
        await self._take_slot(item)
        try:
            return await self.ways.http.script(url, self.plan, self.task, self.route)
        finally:
            self._free_slot(item)

    def _may_render(self) -> bool:
        return self.browsing.is_available and self.browsing.rendered < self.plan.browser_pages

    async def _render(self, item: Item) -> ItemResult | Failed | Deferred:
        scroll = scroll_plan(self.plan, item)
        if scroll.max_steps <= PROBE_STEPS or not may_replay(self.plan, item):
            return await self._finish(item, *await self._load(item, scroll))
        # A few steps show how the page loads more; then its API supplies the rest, or else the browser does.
        rendering, outcome = await self._load(item, replace(scroll, max_steps=PROBE_STEPS), wants_calls=True)
        is_cut = rendering.answer is not None and rendering.cut_by is not None
        if is_cut and not await replay_list(rendering, self.plan, self._send_call):
            rendering, outcome = await self._load(item, scroll)
        return await self._finish(item, rendering, outcome)

    async def _take_slot(self, item: Item) -> None:
        """Wait for a slot of the crawl: the page freed its own when its response was complete."""
        if self.task.slots is not None:
            await self.task.slots.take(item.id)

    def _free_slot(self, item: Item) -> None:
        """Free the slot of the crawl before a wait for another page, which may need one."""
        if self.task.slots is not None:
            self.task.slots.free(item.id)

    async def _load(self, item: Item, scroll: ScrollPlan, *, wants_calls: bool = False) -> tuple[Rendering, Outcome]:
        await self._take_slot(item)
        began, http = time.monotonic(), self.ways.http
        async with self.slots:
            self.browsing.rendered += 1
            options = http.read_options(item, self.plan, self.task, began)
            rendering = Rendering(item.url, options, scroll, wants_calls=wants_calls)
            payload = self._page_payload(item, fields_wanted(self.plan, options, item.url))
            timeout_s = self.ways.browser_s + scroll.seconds
            loading = time.monotonic()
            outcome = await self._execute(self.ways.browser, item, payload, timeout_s, rendering=rendering)
            count_browser(self.meters.get(item.id), outcome, loading)
            return rendering, outcome

    async def _finish(self, item: Item, rendering: Rendering, outcome: Outcome) -> ItemResult | Failed | Deferred:
        """Return the result of a page that a browser loaded."""
        if isinstance(outcome, Deferred):
            return outcome
        if outcome.stats.get("is_download") or (not isinstance(outcome, Failed) and rendering.response is None):
            return await self._fetch(item)  # a file, or an answer without a document
        if isinstance(outcome, Failed):
            return outcome
        assert rendering.answer is not None
        assert rendering.response is not None
        if outcome.recipe is not None and self.plan.listing is not None:
            self.recipes.insert(0, {**outcome.recipe, "id": f"{self.task.run_id} {len(self.recipes)}", "version": 1})
            del self.recipes[_MAX_RECIPES:]
        parsed = rendering.answer
        result = decide_result(item, self.plan, rendering.response, parsed, self.progress, is_rendered=True)
        return report_cut(result, rendering, self.plan) if isinstance(result, ItemResult) else result

    async def _send_call(self, request: ReplayRequest) -> Response | Failed | Deferred:
        if self.plan.delay_s:
            await self._wait_for_delay(request.url, self.plan.delay_s)
        return await self.ways.http.send_call(request, self.plan, self.task, self.route)

    async def _replay(self, item: Item) -> ItemResult | None:
        """Fetch a list item by the API calls that fill its page; None if they are unknown or fail.

        Only for list items: a recipe does not return the links of a page.
        """
        if not self.recipes or self.plan.listing is None or item.kind != PAGE:
            return None
        try:
            target = parse_target(item.url)
        except BadInput:
            return None
        recipe = next((each for each in self.recipes if matches(str(each.get("url_pattern")), target)), None)
        if recipe is None:
            return None
        payload = self._page_payload(item, self.plan.fields_for(item.url), recipe)
        outcome = await self._execute(self.ways.replay, item, payload, self.ways.browser_s)
        count_requests(self.meters.get(item.id), outcome)
        if not isinstance(outcome, Fetched) or outcome.missing:
            if isinstance(outcome, Failed):
                self.recipes.remove(recipe)
            return None
        record = {"url": redact_result_url(item.url), **outcome.records[0]}
        status, size = outcome.stats.get("http_status"), outcome.stats.get("bytes", 0)
        details = outcome.details[0] if outcome.details else None
        return ItemResult(
            item.id, item.key, ItemState.DONE, record=record, details=details, http_status=status, size=size
        )

    async def _refusal(self, item: Item) -> Failed | Deferred | None:
        return await self.ways.http.refusal(item, self.plan, self.task, self.route)

    def _page_payload(
        self, item: Item, fields: tuple[FieldSpec, ...], recipe: dict[str, Any] | None = None
    ) -> PagePayload:
        crawl = self.task.payload.read(CrawlPayload)
        return PagePayload(
            url=item.url,
            trusted_hosts=crawl.trusted_hosts,
            verify_tls=crawl.verify_tls,
            requires_auth=crawl.needs_login,  # no recipe is recorded behind a login
            fields=fields,
            respect_robots=self.plan.respect_robots,
            user_agent=self.plan.user_agent,
            recipe=recipe,
        )

    async def _execute(
        self,
        executor: Executor,
        item: Item,
        payload: PagePayload,
        timeout_s: float,
        rendering: Rendering | None = None,
    ) -> Outcome:
        """Execute one page like a run of its own: same host limiter, session and proxy."""
        if self.plan.respect_robots and (refused := await self._refusal(item)):
            return refused
        host_visit, outcome = self.ways.host_access.visit(self.plan.concurrency, page_in_order(item, self.task)), None
        task = replace(
            self.task,
            kind=PAGE_RUN,
            attempt=item.attempt,
            payload=Payload.of(payload),
            timeout_s=timeout_s,
            visit=host_visit,
            rendering=rendering,
        )
        try:
            outcome = await executor.execute(task)
            return outcome
        finally:
            host_visit.end(outcome)


def _needs_scripts(result: ItemResult | Failed | Deferred) -> bool:
    if isinstance(result, ItemResult):
        return result.reason == SHELL
    return isinstance(result, Failed) and bool(result.stats.get("needs_scripts"))


def _has_more_than(rendered: ItemResult, fetched: ItemResult) -> bool:
    """True for more links, or a clearly longer record."""
    sizes = [len(each.record) if isinstance(each.record, str) else 0 for each in (rendered, fetched)]
    return len(rendered.found) > len(fetched.found) or sizes[0] > _LONGER_RATIO * sizes[1]
