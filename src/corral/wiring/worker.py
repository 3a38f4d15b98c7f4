"""The components of a worker process. A separate module, so that a worker loads neither store nor settings."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from corral.datasets.executor import DatasetRunner
from corral.domain.hosts.limiter import UNLIMITED, HostAccess
from corral.domain.jobs.job import Strategy
from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.domain.net.http_cache import CacheMode
from corral.domain.ports.execution import Executor, RunKind
from corral.domain.ports.proxies import NO_POOL, ProxySource
from corral.domain.proxies.config import TierPrice
from corral.domain.runs.retry import RetryPolicy
from corral.engine.worker.kinds import registry
from corral.engine.worker.kinds.spec import WorkerParts
from corral.fetch.alerts import AlertDelivery
from corral.fetch.api_replay import ApiReplayExecutor
from corral.fetch.browser.executor import BrowserExecutor
from corral.fetch.browser.launch_args import BrowserLimits
from corral.fetch.browser.profile_folder import sweep_homes
from corral.fetch.cache.client import NO_CACHE, PageCache
from corral.fetch.cache.disk import DiskCache
from corral.fetch.crawl.files import FileKeeper
from corral.fetch.crawl.strategy import CrawlVisitor, Ways
from corral.fetch.crawl.visit import HttpVisitor
from corral.fetch.egress.client import Egress
from corral.fetch.egress.mail import Mailer
from corral.fetch.http import HttpExecutor
from corral.fetch.images import EgressImageFetcher
from corral.fetch.limits import FetchLimits
from corral.fetch.parsing.pool import PageReader, ParsePool
from corral.fetch.proxy.check import ProxyChecker
from corral.fetch.proxy.credentials import WithProxy
from corral.fetch.proxy.pool_session import PoolAccess
from corral.fetch.proxy.route import Proxies
from corral.fetch.proxy.script_proxy import ScriptProxy
from corral.fetch.proxy.sources import SourceReader
from corral.fetch.robots import Robots
from corral.fetch.sessions import SessionKeys, WithSession
from corral.fetch.survey import SurveyExecutor, as_it_is, closing
from corral.fetch.webhook import WebhookSender
from corral.files.artifacts import ArtifactFolder
from corral.files.saved_files import FileFolder
from corral.images.messages import DecoderLimits
from corral.images.pool import ImagePool
from corral.inventory.executor import RunReconciler
from corral.scripts.executor import ScriptExecutor
from corral.scripts.launcher import ScriptHost
from corral.wiring.http_reader import make_http_reader
from corral.wiring.script_network import ProxiedNetworks
from corral.wiring.worker_config import WorkerConfig


def page_cache(config: WorkerConfig) -> PageCache:
    mode = CacheMode(config.cache_mode)
    if mode is CacheMode.OFF:
        return NO_CACHE
    disk = DiskCache(Path(config.cache_dir), config.cache_max_bytes)
    policy = ",".join(sorted(config.egress_allow))
    return PageCache(disk, mode, policy=policy, user_agent=config.user_agent, max_bytes=config.max_body_bytes)


def egress_policy(allow: list[str]) -> EgressPolicy:
    return EgressPolicy(tuple(AllowEntry.parse(entry) for entry in allow))


def _unlock(executors: dict[Strategy, Executor], pool: PoolAccess) -> dict[Strategy, Executor]:
    """Return the executors with access to the sessions and proxies of the jobs."""
    keys = pool.keys
    return {name: WithProxy(WithSession(executor, keys), keys, pool) for name, executor in executors.items()}


def _browser_limits(config: WorkerConfig) -> BrowserLimits:
    """Scale the limits of subresources with the allowed size of documents."""
    usual, max_bytes = BrowserLimits(), config.max_body_bytes
    return replace(
        usual,
        executable=config.browser_executable,
        max_content_bytes=max_bytes,
        max_body_bytes=max(usual.max_body_bytes, max_bytes),
        max_decoded_bytes=max(usual.max_decoded_bytes, 4 * max_bytes),
        max_at_once=config.browser_concurrency,
    )


def _file_keeper(config: WorkerConfig) -> FileKeeper:
    return FileKeeper(FileFolder(Path(config.files_dir)) if config.files_dir else None, config.max_file_bytes)


def _datasets_folder(config: WorkerConfig) -> Path:
    return Path(config.datasets_dir or "datasets")


def _retry_policy(config: WorkerConfig) -> RetryPolicy:
    return RetryPolicy(config.retry_base_s, config.retry_factor, config.retry_cap_s)


def _crawl_visitor(  # noqa: PLR0917 - the parts of a worker
    config: WorkerConfig,
    http: HttpVisitor,
    executors: dict[Strategy, Executor],
    host_access: HostAccess,
    pool: PoolAccess,
    proxies: Proxies,
) -> CrawlVisitor:
    browser, replay = executors[Strategy.BROWSER], executors[Strategy.API_REPLAY]
    ways = Ways(
        http, browser, replay, config.browser_s, config.browser_concurrency, host_access, pool.keys, proxies, pool
    )
    return CrawlVisitor(ways)


def _surveys(  # noqa: PLR0917 - the parts of a worker
    config: WorkerConfig, egress: Egress, robots: Robots, pool: ParsePool, cache: PageCache, proxies: Proxies
) -> dict[Strategy, Executor]:
    def http_for(reader: PageReader) -> AbstractAsyncContextManager[Executor]:
        return as_it_is(HttpExecutor(egress, robots, reader, cache=cache, proxies=proxies))

    def browser_for(reader: PageReader) -> AbstractAsyncContextManager[Executor]:
        return closing(
            BrowserExecutor(egress, robots, config.user_agent, _browser_limits(config), reader=reader, proxies=proxies)
        )

    return {
        Strategy.HTTP: SurveyExecutor(http_for, pool),
        Strategy.BROWSER: SurveyExecutor(browser_for, pool),
    }


class _Closable(Protocol):
    async def close(self) -> None: ...


async def _close_all(*parts: _Closable) -> None:
    for part in parts:
        await part.close()


@asynccontextmanager
async def worker_kinds(
    config: WorkerConfig,
    keys: SessionKeys | None = None,
    host_access: HostAccess = UNLIMITED,
    proxy_source: ProxySource | None = None,
) -> AsyncIterator[dict[str, RunKind]]:
    """Build everything that a worker process can execute."""
    keys = keys or SessionKeys(config.vault_keys)
    prices = {tier: TierPrice(*numbers) for tier, numbers in config.proxy_prices.items()}
    pooled = PoolAccess(proxy_source or NO_POOL, keys, prices)
    limits = FetchLimits(max_bytes=config.max_body_bytes, max_value_chars=config.max_value_chars)
    egress = Egress(egress_policy(config.egress_allow), limits, config.user_agent)
    robots = Robots(egress, config.user_agent)
    await asyncio.to_thread(sweep_homes)
    folder = ArtifactFolder(Path(config.artifacts_dir)) if config.artifacts_dir else None
    pool = ParsePool(size=2, max_value_chars=config.max_value_chars, max_links=config.max_page_links)
    proxies = Proxies(egress)
    agent, limit = config.user_agent, _browser_limits(config)
    browser = BrowserExecutor(egress, robots, agent, limit, folder=folder, reader=pool, proxies=proxies)
    cache = page_cache(config)
    executors: dict[Strategy, Executor] = {
        Strategy.HTTP: HttpExecutor(egress, robots, pool, cache=cache, proxies=proxies),
        Strategy.API_REPLAY: ApiReplayExecutor(egress, robots, cache=cache, proxies=proxies),
        Strategy.BROWSER: browser,
    }
    surveys = _surveys(config, egress, robots, pool, cache, proxies)
    visitor = HttpVisitor(egress, robots, pool, host_access=host_access, files=_file_keeper(config))
    images = ImagePool(DecoderLimits(processes=os.cpu_count() or 1))
    script_host, script_proxy = ScriptHost(), ScriptProxy(egress, host_access)
    parts = WorkerParts(
        pages=_unlock(executors, pooled),
        surveys=_unlock(surveys, pooled),
        crawl_visitor=_crawl_visitor(config, visitor, executors, host_access, pooled, proxies),
        scripts=ScriptExecutor(script_host, folder, config.hidden_paths, ProxiedNetworks(script_proxy)),
        reconciler=RunReconciler(make_http_reader(egress)),
        webhooks=WebhookSender(egress),
        exports_folder=Path(config.exports_dir) if config.exports_dir else None,
        proxy_reader=SourceReader(egress),
        proxy_checker=ProxyChecker(egress, keys),
        alerts=AlertDelivery(egress, keys, Mailer(config.smtp_url, config.smtp_from)),
        datasets=DatasetRunner(EgressImageFetcher(egress, robots, pool, host_access), images, _datasets_folder(config)),
        host_access=host_access,
        retry_policy=_retry_policy(config),
    )
    try:
        yield {spec.name: spec.build(parts) for spec in registry.KINDS}
    finally:
        await _close_all(script_host, script_proxy, browser, proxies, pool, images, egress)
