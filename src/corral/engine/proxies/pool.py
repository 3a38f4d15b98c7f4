"""The proxy pool of a node: it chooses a proxy for each request of its workers, and counts the results.

The rows of the database are authoritative; this is a copy, reloaded every few seconds while in use. A proxy without a
success gets no more concurrent requests than it has failures left, so that a bad proxy is out after three uses.
Failures that may be the site's limit a proxy that works to that site: a dead site must not block the pool for others.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Protocol

import structlog

from corral.domain.errors import StorageError
from corral.domain.net.pool_policy import Tier
from corral.domain.ports.proxies import LeasedProxy, ProxyStore
from corral.domain.proxies.blame import Suspicions
from corral.domain.proxies.choice import NO_RECORD, LeaseRequest, PoolRows, SiteRecord, choose, choose_tier
from corral.domain.proxies.pooled import USUAL_RULES, PooledProxy
from corral.domain.proxies.use import TIER_IDS, ProxyUse, Verdict, count_use, site_keys
from corral.engine.proxies.messages import GrantProxy, ReportProxy, RequestProxy, ToProxyPool

log = structlog.get_logger()

_FLUSH_EVERY_S = 0.5
_FRESH_S = 2.0
_UNUSED_S = 30.0
_WAIT_S = 5.0  # how long to wait for a proxy that is still proving itself


class Holder(Protocol):
    """A worker process."""

    def send(self, messages: Any) -> None: ...


class ProxyPool:
    def __init__(
        self,
        store: ProxyStore,
        spawn: Callable[[Coroutine[Any, Any, None]], Any],
        send_keys: Callable[[set[str]], None],
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._store = store
        self._spawn = spawn
        self._send_keys = send_keys
        self._chance = chance
        self._proxies: dict[int, PooledProxy] = {}
        self._sites: dict[tuple[int, str], SiteRecord] = {}
        self._busy: dict[int, Counter[int]] = {}  # by holder: requests through each proxy that have no verdict yet
        self._suspects: Counter[int] = Counter()  # uses without a verdict, by proxy
        self._suspects_at: Counter[tuple[int, str]] = Counter()  # and by proxy and site
        self._suspicions = Suspicions()
        self._unsent: list[ProxyUse] = []
        self._loaded_at = float("-inf")
        self._used_at = float("-inf")
        self._syncing = asyncio.Lock()  # writes and reloads, one at a time
        self._freed = asyncio.Condition()

    # -- messages from workers -----------------------------------------------------------------------

    def hear(self, holder: Holder, message: ToProxyPool) -> None:
        self._used_at = time.monotonic()
        if isinstance(message, RequestProxy):
            self._spawn(self._answer(holder, message))
        else:
            self._spawn(self._take_report(holder, message))

    def remove_holder(self, holder: Holder) -> None:
        self._busy.pop(id(holder), None)

    async def run(self) -> None:
        """Write the uses, and reload changed rows while the pool is in use."""
        while True:
            await asyncio.sleep(_FLUSH_EVERY_S)
            try:
                await self.flush()
                if time.monotonic() - self._used_at < _UNUSED_S:
                    await self._load(_FRESH_S)
            except StorageError as error:
                log.warning("proxy_uses_not_stored", reason=error.message)

    async def flush(self) -> None:
        # A reload during the write would count these uses neither in the rows nor among the unsent ones.
        async with self._syncing:
            await self._write_uses()

    async def _write_uses(self) -> None:
        self._count(self._suspicions.expire(time.monotonic()))
        uses, self._unsent = self._unsent, []
        if not uses:
            return
        try:
            await self._store.record_uses(uses)
        except BaseException:
            self._unsent = uses + self._unsent
            raise

    async def _answer(self, holder: Holder, message: RequestProxy) -> None:
        leased = None
        try:
            leased = await self._lease(message.request)
        except StorageError as error:
            log.warning("proxy_pool_not_loaded", reason=error.message)
        if leased is not None:
            self._busy.setdefault(id(holder), Counter())[leased.id] += 1
            if leased.sealed is not None:
                self._send_keys({leased.sealed.partition(".")[0]})
        holder.send([GrantProxy(message.number, leased)])

    async def _take_report(self, holder: Holder, message: ReportProxy) -> None:
        use = message.use
        busy = self._busy.get(id(holder))
        if busy is not None and busy[use.id] > 0:
            busy[use.id] -= 1
        if use.verdict is Verdict.SUSPECT:
            self._suspects[use.id] += 1
            self._suspects_at[use.id, use.site] += 1
        decided = self._suspicions.judge(use, time.monotonic())
        self._count(decided, own=use)
        async with self._freed:
            self._freed.notify_all()

    def _count(self, decided: list[ProxyUse], own: ProxyUse | None = None) -> None:
        now = time.time()
        for use in decided:
            # Every other use was a suspect, and counted as one when it was reported.
            if use is not own and self._suspects[use.id] > 0:
                self._suspects -= Counter([use.id])  # an empty count is removed
                self._suspects_at -= Counter([(use.id, use.site)])
            if use.verdict is Verdict.NOTHING:
                continue
            self._apply(use, now)
            self._unsent.append(use)

    def _apply(self, use: ProxyUse, now: float) -> None:
        proxy = self._proxies.get(use.id)
        if proxy is not None:
            changed = self._proxies[use.id] = count_use(proxy, use, now)
            if proxy.is_usable and not changed.is_usable:
                log.info("proxy_out", proxy=proxy.policy.redacted, reason=use.why)
        for key in site_keys(use):
            before = self._sites.get(key, NO_RECORD)
            self._sites[key] = before.add(now, is_good=use.verdict is Verdict.GOOD)

    # -- choosing ------------------------------------------------------------------------------------

    async def _lease(self, request: LeaseRequest) -> LeasedProxy | None:
        await self._load(_FRESH_S)
        deadline = time.monotonic() + _WAIT_S
        while True:
            leased, may_wait = self._choose(request)
            remaining_s = deadline - time.monotonic()
            if leased is not None or not may_wait or remaining_s <= 0:
                return leased
            try:
                async with asyncio.timeout(remaining_s), self._freed:
                    await self._freed.wait()
            except TimeoutError:
                return self._choose(request)[0]

    def _choose(self, request: LeaseRequest) -> tuple[LeasedProxy | None, bool]:
        """Return a proxy, or None and whether one may become free soon."""
        if not request.is_tiered:
            return self._choose_in(request)
        after, may_wait = request.after, False
        records = {tier: self._sites.get((TIER_IDS[tier], request.site), NO_RECORD) for tier in Tier}
        for _ in request.tiers:
            tier = choose_tier(request.tiers, records, time.time(), after)
            leased, waits = self._choose_in(replace(request, tiers=(tier,)))
            if leased is not None:
                return leased, False
            may_wait, after = may_wait or waits, tier
        return None, may_wait

    def _choose_in(self, request: LeaseRequest) -> tuple[LeasedProxy | None, bool]:
        if request.tiers == (Tier.DIRECT,):
            return LeasedProxy(0, Tier.DIRECT), False
        fit = [
            proxy
            for proxy in self._proxies.values()
            if proxy.is_usable and proxy.tier in request.tiers and proxy.id not in request.exclude
        ]
        busy = sum(self._busy.values(), Counter())
        free = [proxy for proxy in fit if self._has_room(proxy, request.site, busy)]
        # If every proxy is suspect at this site, the site may be at fault: proxies that work elsewhere go on.
        free = free or [proxy for proxy in fit if proxy.is_proven and not busy[proxy.id]]
        # A silent proxy would use up the time of a page again before anything else decides about it.
        free = [proxy for proxy in free if not self._count_suspects(proxy, request.site)] or free
        records = {proxy.id: self._sites.get((proxy.id, request.site), NO_RECORD) for proxy in free}
        chosen = choose(free, request, records, time.time(), self._chance)
        if chosen is None:
            return None, bool(fit)
        return LeasedProxy(chosen.id, chosen.tier, chosen.address, chosen.sealed), False

    def _has_room(self, proxy: PooledProxy, site: str, busy: "Counter[int]") -> bool:
        suspects = self._count_suspects(proxy, site)
        if proxy.is_proven and not suspects:
            return True
        return busy[proxy.id] + suspects < USUAL_RULES.out_after - proxy.failures

    def _count_suspects(self, proxy: PooledProxy, site: str) -> int:
        return self._suspects_at[proxy.id, site] if proxy.is_proven else self._suspects[proxy.id]

    async def _load(self, fresh_s: float) -> None:
        if self._is_fresh(fresh_s):
            return  # without the lock: a request for a proxy does not wait for a write
        async with self._syncing:
            if self._is_fresh(fresh_s):
                return
            await self._write_uses()
            rows: PoolRows = await self._store.load()
            self._proxies = {proxy.id: proxy for proxy in rows.usable}
            self._sites = dict(rows.sites)
            for use in self._unsent:
                self._apply(use, time.time())
            self._loaded_at = time.monotonic()

    def _is_fresh(self, fresh_s: float) -> bool:
        return time.monotonic() - self._loaded_at < fresh_s


def refuse_proxies(holder: Holder, message: ToProxyPool) -> None:
    """Answer every request with no proxy, in a process without a pool."""
    if isinstance(message, RequestProxy):
        holder.send([GrantProxy(message.number, None)])
