"""A request that the host limiter defers is neither an answer nor a failure, whichever way the page is fetched."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.item import PAGE, ROBOTS, Item, sitemap_kind
from corral.domain.hosts.order import QueuedPage
from corral.domain.net.proxy import RouteKind
from corral.domain.net.url import Target
from corral.domain.ports.execution import Executor, Task
from corral.domain.runs.outcome import Deferred, Outcome, WaitReason
from corral.domain.runs.payload.stored import Payload
from corral.fetch.api_replay import ApiReplayExecutor
from corral.fetch.browser.executor import BrowserExecutor
from corral.fetch.crawl.visit import HttpVisitor
from corral.fetch.egress.client import Egress
from corral.fetch.http import HttpExecutor
from corral.fetch.parsing.pool import InProcessReader
from corral.fetch.probe import probe
from corral.fetch.proxy.credentials import WithProxy
from corral.fetch.robots import Robots
from corral.fetch.sessions import SessionKeys, WithSession
from corral.fetch.survey import SurveyExecutor, as_it_is
from tests.fetch.hostile import Hostile

DEFERRED = Deferred("site.test", WaitReason.PACE, 12.5)


class ClosedVisit:
    """The visit to a host that lets no request start."""

    ended: Outcome | None = None

    async def enter(self, target: Target, route: RouteKind = RouteKind.DIRECT) -> Deferred | None:
        return DEFERRED

    def record_answer(self, target: Target, status: int, latency_s: float, retry_after: str | None) -> None: ...

    def slow_down(self, target: Target, delay_s: float) -> None: ...

    def free_slots(self) -> None: ...

    def end(self, outcome: Outcome | None) -> None:
        self.ended = outcome


class ClosedHosts:
    def visit(self, at_once: int = 0, queued: QueuedPage | None = None) -> ClosedVisit:
        return ClosedVisit()


def a_task(url: str, **more: Any) -> Task:
    payload = {"url": url, "fields": [{"name": "title"}], **more}
    return replace(Task("run", 1, "page", "http", 1, Payload(payload), 10), visit=ClosedVisit())


@asynccontextmanager
async def open_executor(name: str, egress: Egress) -> AsyncIterator[Executor]:
    robots, keys = Robots(egress, "corral-test"), SessionKeys()
    browser = BrowserExecutor(egress, robots, "corral-test")
    http, reader = HttpExecutor(egress, robots), InProcessReader()
    executors: dict[str, Executor] = {
        "http": http,
        "session and proxy": WithProxy(WithSession(http, keys), keys),
        "api_replay": ApiReplayExecutor(egress, robots),
        "survey": SurveyExecutor(lambda _: as_it_is(http), reader),
        "browser": browser,
    }
    yield executors[name]
    await browser.close()


RECIPE = {
    "id": "r",
    "version": 1,
    "url_pattern": "/*",
    "calls": [{"method": "GET", "url": "{origin}/api", "headers": {}}],
    "fields": {"title": {"call": 0, "value": "{$.name}"}},
}


@pytest.mark.parametrize("name", ["http", "session and proxy", "api_replay", "survey", "browser"])
@pytest.mark.parametrize("respect_robots", [True, False])
async def test_an_executor_returns_the_deferral(
    egress: Egress, hostile: Hostile, name: str, respect_robots: bool
) -> None:
    async with open_executor(name, egress) as executor:
        task = a_task(hostile.url("/ok"), recipe=RECIPE, respect_robots=respect_robots)
        assert await executor.execute(task) == DEFERRED
    assert hostile.connections == 0


async def test_a_probe_names_the_deferral(egress: Egress, hostile: Hostile) -> None:
    found = await probe(egress, hostile.url("/ok"), (), host_access=ClosedHosts())
    assert (found.status, found.resolved, found.failure) == (None, True, DEFERRED)


@pytest.mark.parametrize("kind", [PAGE, ROBOTS, sitemap_kind(1)])
@pytest.mark.parametrize("respect_robots", [True, False])
async def test_an_item_of_a_crawl_is_deferred(
    egress: Egress, hostile: Hostile, kind: str, respect_robots: bool
) -> None:
    plan = CrawlPlan.of({"start_urls": [hostile.url("/ok")], "respect_robots": respect_robots})
    task = Task("run", 1, "crawl", "http", 1, Payload({"crawl": plan.document()}), 10)
    visitor = HttpVisitor(egress, Robots(egress, "corral-test"), InProcessReader(), host_access=ClosedHosts())
    assert await visitor.visit(Item(1, hostile.url("/ok"), "k", 0, 1, kind), plan, task) == DEFERRED
    assert hostile.connections == 0
