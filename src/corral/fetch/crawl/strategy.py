"""Open what the pages of a crawl share: its login, its proxy, and the visitor that chooses how to fetch each page."""

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.item import Item, ItemResult
from corral.domain.crawl.payload import CrawlPayload
from corral.domain.crawl.scope import Refusal
from corral.domain.net.pool_policy import PoolPolicy
from corral.domain.net.proxy import OpenProxy
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Deferred, Failed
from corral.fetch.crawl.run_visitor import RunVisitor, Ways
from corral.fetch.faults import fault
from corral.fetch.proxy.credentials import open_proxy
from corral.fetch.proxy.pool_session import PoolAccess
from corral.fetch.proxy.route import Proxies
from corral.fetch.sessions import open_session

__all__ = ["CrawlVisitor", "PooledVisitor", "Ways"]


class CrawlVisitor:
    def __init__(self, ways: Ways) -> None:
        self._ways = ways
        self._slots = asyncio.Semaphore(ways.browsers)

    @asynccontextmanager
    async def open(self, plan: CrawlPlan, task: Task) -> AsyncIterator["RunVisitor | PooledVisitor | Failed"]:
        """Yield the visitor of one crawl with its session and proxy opened, or the failure to open them."""
        opened = open_session(task, self._ways.keys)
        payload = task.payload.read(CrawlPayload)
        if not isinstance(opened, Failed) and payload.proxy is not None and payload.proxy.pool is not None:
            yield self._visit_through_pool(plan, opened, payload.proxy.pool)
            return
        if not isinstance(opened, Failed):
            opened = open_proxy(opened, self._ways.keys)
        if isinstance(opened, Failed):
            yield opened
            return
        if self._ways.proxies is None:
            yield RunVisitor(self._ways, self._slots, plan, opened)
            return
        opening = self._ways.proxies.open_route(opened.proxy, payload.trusted, verifies_tls=payload.verify_tls)
        async with opening as route:
            yield RunVisitor(self._ways, self._slots, plan, opened, route)

    def _visit_through_pool(self, plan: CrawlPlan, task: Task, policy: PoolPolicy) -> "PooledVisitor | Failed":
        ways = self._ways
        if ways.pool is None or ways.proxies is None:
            return fault("network:no_proxy")
        return PooledVisitor(RunVisitor(ways, self._slots, plan, task), policy, ways.pool, ways.proxies)


@dataclass(frozen=True, slots=True)
class PooledVisitor:
    """Fetches each page of a crawl through a proxy of the pool, and through another proxy if that fails."""

    visitor: "RunVisitor"
    policy: PoolPolicy
    pool: PoolAccess
    proxies: Proxies

    async def visit(self, item: Item, plan: CrawlPlan, task: Task) -> ItemResult | Failed | Deferred:
        payload = self.visitor.task.payload.read(CrawlPayload)

        async def attempt(proxy: OpenProxy | None, _: float) -> ItemResult | Failed | Deferred:
            opening = self.proxies.open_route(proxy, payload.trusted, verifies_tls=payload.verify_tls)
            async with opening as route:
                visitor = copy.copy(self.visitor)  # the copy shares the crawl's knowledge of its pages
                visitor.task, visitor.route = replace(self.visitor.task, proxy=proxy), route
                return await visitor.visit(item, plan, task)

        session = self.pool.open(self.policy, item.url, task)
        timeout_s = self.visitor.ways.browser_s * 2
        verifies_tls = payload.verify_tls
        return await session.fetch(attempt, timeout_s, verifies_tls=verifies_tls, is_doubtful=_leads_outside)


def _leads_outside(result: ItemResult | Failed | Deferred) -> bool:
    """True for a redirect out of the crawl: the proxy may have forged it."""
    return isinstance(result, ItemResult) and result.reason == Refusal.OUT_OF_SCOPE
