"""Render one page in Chromium, read it once its fields are present, and turn it into a record."""

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any

from playwright.async_api import Error as PlaywrightError

from corral.domain.errors import BadInput
from corral.domain.net.proxy import RouteKind
from corral.domain.net.url import BadScheme, Target, parse_target
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import AttemptOutcome, Deferred, Failed, Outcome, wants_evidence
from corral.domain.runs.payload.page import PagePayload
from corral.domain.sites.session import SessionState
from corral.fetch.browser.crawl_page import Rendering
from corral.fetch.browser.data_documents import Reading, ReadPlan
from corral.fetch.browser.engine import CannotStart, Engine
from corral.fetch.browser.failure_evidence import WITHIN_S, evidence
from corral.fetch.browser.faults import browser_fault
from corral.fetch.browser.headers import first_party_headers
from corral.fetch.browser.launch_args import BrowserLimits
from corral.fetch.browser.readiness import out_of_time, outcome_of, wait_until_ready
from corral.fetch.browser.recorded_calls import add_recipe
from corral.fetch.browser.scrolling.list_scroll import scroll_list
from corral.fetch.browser.scrolling.page_scroll import scroll_and_read
from corral.fetch.browser.shared_browser import BrowserHost
from corral.fetch.browser.visit import PageVisit
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext
from corral.fetch.faults import fault
from corral.fetch.parsing.pool import InProcessReader, PageReader
from corral.fetch.proxy.forward_proxy import ForwardProxy
from corral.fetch.proxy.passes import ProxyLimits, ProxyPass
from corral.fetch.proxy.route import Proxies
from corral.fetch.robots import Robots
from corral.fetch.sessions import browser_state
from corral.files.artifacts import ArtifactFolder

# Time reserved for returning the outcome: the caller's clock started earlier.
_RESERVE_SHARE = 0.1
_MAX_RESERVE_S = 1.0
_ANSWER_S = 0.3
_CRASH_REPORT_S = 0.5


class Renderer:
    def __init__(
        self,
        egress: Egress,
        robots: Robots,
        user_agent: str,
        limits: BrowserLimits,
        proxy_limits: ProxyLimits,
        *,
        folder: ArtifactFolder | None = None,
        reader: PageReader | None = None,
        proxies: Proxies | None = None,
    ) -> None:
        self._folder = folder
        self._reader = reader or InProcessReader()
        self._proxies = proxies or Proxies(egress)
        self._robots = robots
        self._user_agent = user_agent
        self._limits = limits
        self._proxy = ForwardProxy(egress, proxy_limits)
        self.host = BrowserHost(self._limits)

    async def execute(self, task: Task) -> Outcome:
        clock = _Clock(task.timeout_s)
        payload = task.payload.read(PagePayload)
        target = _parse_url(payload.url)
        if isinstance(target, Failed):
            return target
        async with self._proxies.open_route(task.proxy, payload.trusted, verifies_tls=payload.verify_tls) as route:
            run = _PageRun(task, target, FetchContext(payload.trusted, route, task.visit), clock)
            if not payload.respect_robots:
                return await self._render(run)
            outcome: Outcome | None = await self._robots.refusal(target, run.context, budget_s=clock.measure_left_s())
            if outcome is None:
                outcome = await self._render(run)
            if not isinstance(outcome, Deferred):
                outcome.stats.update(self._robots.notes(target, run.context))
            return outcome

    async def _render(self, run: "_PageRun") -> Outcome:
        task, target = run.task, run.target
        # One slot covers everything that the page loads: we cannot choose what it loads from other hosts.
        if task.visit is not None and (deferred := await task.visit.enter(target, _route_kind(run))) is not None:
            return deferred
        engine = await self._engine(run.clock)
        if isinstance(engine, Failed):
            return engine
        run.clock.mark("ready_ms")
        visit = PageVisit(engine, self._limits)
        idle_s = task.payload.read(PagePayload).timeout_s
        granted = self._proxy.admit(run.context.trusted_hosts, task.proxy, idle_s=idle_s, on_exceeded=visit.exceed)
        try:
            outcome = await self._watch(visit, granted, run)
            return await self._with_evidence(outcome, visit, task, run.clock)
        finally:
            visit.finish()
            self._proxy.revoke(granted)
            self.host.leave(engine, visit.opening)

    async def close(self) -> None:
        await self.host.close()
        await self._proxy.close()

    async def _engine(self, clock: "_Clock") -> Engine | Failed:
        try:
            async with asyncio.timeout(clock.measure_left_s()):
                await self._proxy.start()
                return await self.host.enter(self._proxy.address)
        except TimeoutError:
            return browser_fault("timeout:total", timings=clock.timings())
        except CannotStart as problem:
            name = "policy:strategy_unavailable" if problem.is_final else "unknown:browser_launch"
            return browser_fault(name, str(problem))

    async def _watch(self, visit: PageVisit, granted: ProxyPass, run: "_PageRun") -> AttemptOutcome:
        clock = run.clock
        try:
            async with asyncio.timeout(clock.measure_left_s()):
                outcome = await _unless_ended(visit, self._load_and_read(visit, granted, run))
        except TimeoutError:
            outcome = out_of_time(granted, self._limits.max_content_bytes)
        except PlaywrightError as error:
            # Playwright often reports the failed call before its reason.
            await asyncio.wait({visit.ended}, timeout=_CRASH_REPORT_S)
            message = str(error).strip().partition("\n")[0][:200]
            outcome = visit.ended.result() if visit.ended.done() else browser_fault("unknown:browser_crash", message)
        if "timings" not in outcome.stats:
            outcome.stats.update(bytes=granted.bytes_in, requests=granted.requests, timings=clock.timings())
        return outcome

    async def _with_evidence(
        self, outcome: AttemptOutcome, visit: PageVisit, task: Task, clock: "_Clock"
    ) -> AttemptOutcome:
        within_s = min(WITHIN_S, clock.last_s())
        is_of_crawl = task.rendering is not None  # artifacts of crawled pages have no rows
        if self._folder is None or within_s <= 0 or is_of_crawl or not wants_evidence(outcome):
            return outcome
        secrets = task.session.secrets() if isinstance(task.session, SessionState) else ()
        return replace(outcome, artifacts=await evidence(visit, self._folder, secrets, within_s))

    async def _load_and_read(self, visit: PageVisit, granted: ProxyPass, run: "_PageRun") -> AttemptOutcome:
        task, target, clock = run.task, run.target, run.clock
        payload = task.payload.read(PagePayload)
        fields = payload.fields
        connection = (self._proxy.address, granted, self._user_agent, browser_state(task))
        first_party = first_party_headers(task)
        await visit.open(
            *connection, verifies_tls=payload.verify_tls, chosen_agent=payload.user_agent, first_party=first_party
        )
        clock.mark("open_ms")
        await visit.load(target.url)
        clock.mark("load_ms")
        rendering = task.rendering if isinstance(task.rendering, Rendering) else None
        plan = ReadPlan(target.url, fields, self._reader, clock.reading_ends_at(), self._limits.max_content_bytes)
        if rendering is not None:
            plan = replace(plan, crawl=rendering.read_options, until=plan.until - rendering.scroll.seconds)
        reading = await wait_until_ready(visit, granted, plan)
        if rendering is not None and isinstance(reading, Reading):
            scroll = scroll_list if rendering.scroll.is_list else scroll_and_read
            reading = await scroll(visit, plan, reading, rendering, clock.reading_ends_at())
        outcome = outcome_of(visit.arrival, granted, fields, reading, clock.timings(), target.url)
        if rendering is not None and isinstance(reading, Reading):
            chain = tuple(visit.arrival.chain[:-1]) if visit.arrival is not None else ()
            rendering.set_result(chain, reading.request, reading.answer, granted.bytes_in)
        if rendering is not None and rendering.wants_calls:
            rendering.calls = await visit.calls.read()
            return outcome
        # No visit of its own: the page's slot covers the robots.txt of the hosts it calls.
        context = replace(run.context, visit=None)
        return await add_recipe(visit.calls, outcome, task, self._robots, context, left_s=clock.measure_left_s())


class _Clock:
    """The time budget of one run and the marks of its phases."""

    def __init__(self, timeout_s: float) -> None:
        self._started = time.monotonic()
        self._reserve_s = min(_MAX_RESERVE_S, timeout_s * _RESERVE_SHARE)
        self._ends_at = self._started + timeout_s - self._reserve_s
        self._marks: dict[str, int] = {}

    def measure_left_s(self) -> float:
        return max(0.0, self._ends_at - time.monotonic())

    def last_s(self) -> float:
        """Return the time left including the reserve, for work that may be abandoned."""
        return self._ends_at + self._reserve_s - min(_ANSWER_S, self._reserve_s / 2) - time.monotonic()

    def reading_ends_at(self) -> float:
        """Return the deadline for reading a page, ready or not."""
        return self._ends_at - self._reserve_s

    def mark(self, name: str) -> None:
        self._marks[name] = self._measure_ms()

    def timings(self) -> dict[str, int]:
        return {**self._marks, "total_ms": self._measure_ms()}

    def _measure_ms(self) -> int:
        return round((time.monotonic() - self._started) * 1000)


@dataclass(frozen=True, slots=True)
class _PageRun:
    """One page that a browser renders for a task."""

    task: Task
    target: Target
    context: FetchContext
    clock: _Clock


async def _unless_ended(visit: PageVisit, work: Coroutine[Any, Any, AttemptOutcome]) -> AttemptOutcome:
    """Return the outcome of the work, or that of the visit if the visit ends first."""
    task = asyncio.create_task(work)
    try:
        either: set[asyncio.Future[Any]] = {task, visit.ended}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else visit.ended.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _route_kind(run: _PageRun) -> RouteKind:
    return RouteKind.DIRECT if run.context.route is None else run.context.route.kind_for(run.target)


def _parse_url(url: str) -> Target | Failed:
    try:
        return parse_target(url)
    except BadScheme as problem:
        return fault("policy:scheme", problem.message)
    except BadInput as problem:
        return fault("policy:url", problem.message)
