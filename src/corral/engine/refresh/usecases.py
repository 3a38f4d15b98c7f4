"""The proxy pool: import lists, refresh and check. Credentials are sealed before they are stored."""

import asyncio
from collections.abc import Callable, Sequence

from corral.domain.errors import BadConfiguration
from corral.domain.net.pool_policy import Tier
from corral.domain.net.proxy import OpenProxy, ProxyPolicy, credentials_text
from corral.domain.ports.stores import EngineStore
from corral.domain.proxies.config import CheckPlan, ProxyConfig
from corral.domain.proxies.imports import NewProxy, ProxyImport, identity_of
from corral.domain.proxies.listing import ProxyList, parse_list
from corral.domain.proxies.payload import ProxyCheckPayload, ProxyRefreshPayload
from corral.domain.proxies.refresh import RefreshProgress, split
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.queues import Waker
from corral.domain.runs.run import PROXY_CHECK, PROXY_REFRESH, NewRun, Run
from corral.domain.secret import Secret
from corral.engine.worker.kinds.registry import find_kind

Seal = Callable[[Secret[str], str], str]
ReadConfig = Callable[[], ProxyConfig]


class ProxyPools:
    def __init__(self, store: EngineStore, seal: Seal, read_config: ReadConfig, wake: Waker) -> None:
        self._store = store
        self._seal = seal
        self._read_config = read_config
        self._wake = wake

    async def add(self, text: str, source: str, *, scheme: str = "http", tier: Tier = Tier.DATACENTRE) -> ProxyImport:
        """Import a list. Its proxies are not used until they are checked."""
        # A long list takes seconds to read.
        proxy_list = await asyncio.to_thread(parse_list, text, scheme=scheme, tier=tier)
        return await store_list(self._store, self._seal, proxy_list, source)

    async def refresh(self, not_before_s: float | None = None) -> tuple[RefreshProgress, bool]:
        """Start a refresh and return its progress and True; if one is active, return that and False."""
        check_config(self._read_config())
        run = find_kind(PROXY_REFRESH).draft_run(ProxyRefreshPayload())
        drafts = [EventDraft(EventKind.CREATED, {})]
        refresh_id, is_new = await self._store.proxies.start_refresh(run, drafts, not_before_s)
        if is_new:
            self._wake(run)
        return await self._store.proxies.progress(refresh_id), is_new

    async def check(self, ids: Sequence[int], *, target: str | None = None) -> list[Run]:
        """Start a check of these proxies, in chunks."""
        plan = self._read_config().check
        plan = plan if target is None else CheckPlan(plan.judge, target, plan.timeout_s, plan.concurrency)
        if plan.problem is not None:
            raise BadConfiguration([plan.problem])
        drafts = [draft_check(chunk, plan) for chunk in split(ids)]
        if not drafts:
            return []
        await self._store.runs.add(drafts)
        self._wake(*(run for run, _ in drafts))
        return [await self._store.runs.get(run.id) for run, _ in drafts]


def check_config(config: ProxyConfig) -> None:
    problems = [*config.problems]
    if config.check.problem is not None:
        problems.append(config.check.problem)
    if problems:
        raise BadConfiguration(problems)


def draft_check(chunk: Sequence[int], plan: CheckPlan, parent: str | None = None) -> tuple[NewRun, list[EventDraft]]:
    run = find_kind(PROXY_CHECK).draft_run(ProxyCheckPayload(tuple(chunk), plan))
    return run._replace(parent_id=parent), [EventDraft(EventKind.CREATED, {"proxies": len(chunk)})]  # type: ignore[arg-type]


async def store_list(store: EngineStore, seal: Seal, proxy_list: ProxyList, source: str) -> ProxyImport:
    new = [_seal_proxy(listed.proxy, listed.tier, source, seal) for listed in proxy_list.proxies]
    report = await store.proxies.add(new)
    return ProxyImport(
        report.imported, report.updated, report.unchanged, proxy_list.malformed_count, proxy_list.malformed
    )


def _seal_proxy(proxy: OpenProxy, tier: Tier, source: str, seal: Seal) -> NewProxy:
    text = credentials_text(proxy)
    sealed = None if text is None else seal(Secret(text), ProxyPolicy(proxy.address).bound)
    return NewProxy(identity_of(proxy), proxy.address, sealed, tier, source)
