"""Which way each page of a crawl is got: over HTTP, by a recipe, or by browser where its scripts are needed."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from corral.domain.crawl.crawl import SCROLL_LIMIT, SHELL, CrawlPlan, ItemState
from corral.domain.crawl.item import PAGE, Item, ItemResult, listing_place
from corral.domain.crawl.payload import CrawlPayload
from corral.domain.crawl.traps import template_of
from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.hosts.limiter import UNLIMITED, HostAccess, host_key_of_url
from corral.domain.jobs.job import Strategy
from corral.domain.net.url import parse_target
from corral.domain.ports.execution import Executor, Task
from corral.domain.redaction import redact_result_url
from corral.domain.runs.outcome import Deferred, Failed, Fetched, Outcome
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import PAGE as PAGE_RUN
from corral.domain.sites.recipe.recipe import matches
from corral.domain.sites.session import SessionState
from corral.extract.classify.shells import script_loads_more
from corral.fetch.browser.crawl_page import Rendering
from corral.fetch.crawl.page_result import result_of_page
from corral.fetch.crawl.visit import HttpVisitor, fields_wanted, page_in_order
from corral.fetch.egress.context import Route
from corral.fetch.proxy.credentials import open_proxy
from corral.fetch.proxy.route import Proxies
from corral.fetch.sessions import SessionKeys, mark_expired_session, open_session

_SCROLL_S = 60.0
_MAX_TEMPLATES = 10_000
_MAX_RECIPES = 50
_MAX_SCRIPTS = 20  # that are looked at
_IN_VAIN = 3
_LONGER = 1.2


@dataclass(frozen=True, slots=True)
class Ways:
    """All ways to get a page. `browser` renders it, `replay` makes the calls of a recipe instead."""

    http: HttpVisitor
    browser: Executor
    replay: Executor
    browser_s: float = 30.0
    browsers: int = 2  # pages in the browser of this worker at once
    host_access: HostAccess = UNLIMITED
    keys: SessionKeys = field(default_factory=SessionKeys)
    proxies: Proxies | None = None


class CrawlVisitor:
    def __init__(self, ways: Ways) -> None:
        self._ways = ways
        self._slots = asyncio.Semaphore(ways.browsers)

    @asynccontextmanager
    async def open(self, plan: CrawlPlan, task: Task) -> AsyncIterator["RunVisitor | Failed"]:
        """For the pages of one crawl, with its login and its proxy open; why not, where those cannot be opened."""
        unlocked = open_session(task, self._ways.keys)
        if not isinstance(unlocked, Failed):
            unlocked = open_proxy(unlocked, self._ways.keys)
        if isinstance(unlocked, Failed):
            yield unlocked
            return
        payload = task.payload.read(CrawlPayload)
        if self._ways.proxies is None:
            yield RunVisitor(self._ways, self._slots, plan, unlocked)
            return
        opening = self._ways.proxies.open_route(unlocked.proxy, payload.trusted, verifies_tls=payload.verify_tls)
        async with opening as route:
            yield RunVisitor(self._ways, self._slots, plan, unlocked, route)


@dataclass(slots=True, eq=False)
class RunVisitor:
    ways: Ways
    slots: asyncio.Semaphore  # waited for before the time of a page begins
    plan: CrawlPlan
    task: Task
    route: Route | None = None
    scripted: dict[str, None] = field(default_factory=dict)  # templates whose pages the browser fills
    scripts: dict[str, bool] = field(default_factory=dict)  # script files, by whether they may bring more of a page
    gainless: "Counter[str]" = field(default_factory=Counter)  # by template, pages that were rendered in vain
    rendered: int = 0
    has_browser: bool = True
    recipes: list[dict[str, Any]] = field(default_factory=list)
    turns: dict[str, float] = field(default_factory=dict)  # by host, when its next page may be asked for

    def __post_init__(self) -> None:
        self.recipes += self.task.payload.read(CrawlPayload).recipes

    async def visit(self, item: Item, plan: CrawlPlan, task: Task) -> ItemResult | Failed | Deferred:  # noqa: ARG002 - one per crawl
        if self.plan.delay_s:
            await self._wait_for_turn(item.url, self.plan.delay_s)
        ended = await self._visit_by_strategy(item)
        if isinstance(ended, Failed) and isinstance(self.task.session, SessionState):
            dead = mark_expired_session(ended)
            return dead if isinstance(dead, Failed) else ended
        return ended

    async def _wait_for_turn(self, url: str, delay_s: float) -> None:
        """A host is with one worker at a time, so this keeps the pages of the whole crawl apart."""
        host, now = host_key_of_url(url) or "", time.monotonic()
        at = max(now, self.turns.get(host, now))
        self.turns[host] = at + delay_s
        await asyncio.sleep(at - now)

    async def _visit_by_strategy(self, item: Item) -> ItemResult | Failed | Deferred:
        strategy = self.plan.strategy
        is_page = item.kind == PAGE or listing_place(item.kind) is not None
        if strategy == Strategy.HTTP or not is_page:
            return await self._fetch(item)
        if strategy == Strategy.BROWSER:
            return await self._render(item)
        return await self._visit_by_need(item)

    async def _fetch(self, item: Item) -> ItemResult | Failed | Deferred:
        return await self.ways.http.visit(item, self.plan, self.task, self.route)

    async def _visit_by_need(self, item: Item) -> ItemResult | Failed | Deferred:
        """The cheapest way that brings what was asked for."""
        if (replayed := await self._replay(item)) is not None:
            return replayed
        template = template_of(item.url)
        if template in self.scripted and self._may_render():
            return await self._render(item)
        ended = await self._fetch(item)
        if not self._may_render():
            return ended
        if not _needs_scripts(ended):
            return await self._render_for_more(item, ended, template)
        rendered = await self._render(item)
        if self._is_unavailable(rendered):
            return ended
        if isinstance(rendered, ItemResult):
            self.scripted[template] = None
            while len(self.scripted) > _MAX_TEMPLATES:
                del self.scripted[next(iter(self.scripted))]
        return rendered

    async def _render_for_more(
        self, item: Item, ended: ItemResult | Failed | Deferred, template: str
    ) -> ItemResult | Failed | Deferred:
        """A page that can be read over HTTP, as a browser shows it where that leads to more."""
        # The fields of an item are there, and nothing else of it is wanted.
        is_item = self.plan.listing is not None and item.kind == PAGE
        if not isinstance(ended, ItemResult) or is_item or not await self._may_have_more(ended, template):
            return ended
        rendered = await self._render(item)
        if self._is_unavailable(rendered) or not isinstance(rendered, ItemResult):
            return ended
        if not _has_more_than(rendered, ended):
            self.gainless[template] += 1
            return ended
        return rendered

    def _is_unavailable(self, rendered: ItemResult | Failed | Deferred) -> bool:
        if isinstance(rendered, Failed) and rendered.detail == "strategy_unavailable":
            self.has_browser = False
        return not self.has_browser

    async def _may_have_more(self, ended: ItemResult, template: str) -> bool:
        """Its scripts look as if they brought more, and those of its like have not been rendered in vain too often."""
        seen = ended.seen
        if (
            seen is None
            or self.gainless[template] >= _IN_VAIN
            or ended.state not in (ItemState.DONE, ItemState.SKIPPED)
        ):
            return False
        if seen.loads_more:
            return True
        if self.gainless.total() >= _IN_VAIN:
            return False
        return any([await self._script_loads_more(url) for url in seen.scripts])

    async def _script_loads_more(self, url: str) -> bool:
        known = self.scripts.get(url)
        if known is None and len(self.scripts) < _MAX_SCRIPTS:
            known = self.scripts[url] = script_loads_more(
                await self.ways.http.script(url, self.plan, self.task, self.route)
            )
        return bool(known)

    def _may_render(self) -> bool:
        return self.has_browser and self.rendered < self.plan.browser_pages

    async def _render(self, item: Item) -> ItemResult | Failed | Deferred:
        began, http = time.monotonic(), self.ways.http
        async with self.slots:
            self.rendered += 1
            ask = http.ask(item, self.plan, self.task, began)
            scroll_s = _SCROLL_S if self.plan.max_scrolls else 0.0
            rendering = Rendering(item.url, ask, self.plan.max_scrolls, scroll_s)
            payload = self._page_payload(item, fields_wanted(self.plan, ask, item.url))
            timeout_s = self.ways.browser_s + scroll_s
            outcome = await self._execute(self.ways.browser, item, payload, timeout_s, rendering=rendering)
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
        ended = result_of_page(item, self.plan, rendering.response, rendering.answer, ask, is_rendered=True)
        if rendering.is_cut and isinstance(ended, ItemResult):
            told = f"it still brought more after {self.plan.max_scrolls} steps of scrolling, or {_SCROLL_S:.0f} s"
            return ended._replace(reason=SCROLL_LIMIT, message=f"{told}; max_scrolls allows more")
        return ended

    async def _replay(self, item: Item) -> ItemResult | None:
        """The item of a list by the calls that fill its page; None where that is not known, or did not work.

        Only items of a list: a recipe does not say where a page leads.
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
            requires_auth=crawl.needs_login,  # no recipe is made of a page behind a login
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
        """One page as a run of its own would get it: past the same host limiter, with the same login and proxy."""
        if self.plan.respect_robots and (refused := await self._refusal(item)):
            return refused
        turn, outcome = self.ways.host_access.visit(self.plan.concurrency, page_in_order(item, self.task)), None
        task = replace(
            self.task,
            kind=PAGE_RUN,
            attempt=item.attempt,
            payload=Payload.of(payload),
            timeout_s=timeout_s,
            visit=turn,
            rendering=rendering,
        )
        try:
            outcome = await executor.execute(task)
            return outcome
        finally:
            turn.end(outcome)


def _needs_scripts(ended: ItemResult | Failed | Deferred) -> bool:
    if isinstance(ended, ItemResult):
        return ended.reason == SHELL
    return isinstance(ended, Failed) and bool(ended.stats.get("needs_scripts"))


def _has_more_than(rendered: ItemResult, fetched: ItemResult) -> bool:
    """More links, or a record that is clearly longer."""
    sizes = [len(each.record) if isinstance(each.record, str) else 0 for each in (rendered, fetched)]
    return len(rendered.found) > len(fetched.found) or sizes[0] > _LONGER * sizes[1]
