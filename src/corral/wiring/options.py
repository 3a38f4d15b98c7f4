"""Convert settings to the options of each component."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from corral.domain.cost.spent import Prices
from corral.domain.hosts.breaker import BreakerRules
from corral.domain.hosts.limiter import HostRules
from corral.domain.hosts.pace import PaceRules
from corral.domain.jobs.job import Strategy
from corral.domain.net.pool_policy import POOL_TIERS, Tier
from corral.domain.proxies.config import TierPrice
from corral.domain.runs.retention import Retention
from corral.domain.runs.retry import RetryPolicy
from corral.engine.node.assign import WorkerLimits
from corral.engine.node.memory import default_limit_mib
from corral.engine.node.options import NodeOptions
from corral.engine.refresh.calls import ProxyOptions
from corral.fetch.browser.launch_args import find_chromium
from corral.secrets.vault import Keyring
from corral.settings import Settings
from corral.wiring.proxies.config import load_proxy_config
from corral.wiring.worker_config import WorkerConfig


def retry_policy(settings: Settings) -> RetryPolicy:
    return RetryPolicy(
        base_s=settings.retry_base_seconds,
        factor=settings.retry_factor,
        cap_s=settings.retry_cap_seconds,
        max_wait_s=settings.retry_max_wait_seconds,
        offers=available_strategies(settings),
    )


def available_strategies(settings: Settings) -> frozenset[Strategy]:
    """Return the strategies that the workers of this machine can use. Playwright caches its own browsers."""
    offers = {Strategy.HTTP, Strategy.API_REPLAY}
    if settings.browser_executable or find_chromium() or any((Path.home() / ".cache/ms-playwright").glob("chromium*")):
        offers.add(Strategy.BROWSER)
    return frozenset(offers)


def node_options(
    settings: Settings,
    keys: Keyring | None = None,
    keys_for: Callable[[Iterable[str]], list[str] | None] = lambda _: None,
    *,
    processes: int | None = None,
    proxies: ProxyOptions | None = None,
) -> NodeOptions:
    workers, max_mib = processes or settings.workers, settings.worker_max_memory_mib
    return NodeOptions(
        workers=workers,
        limits=WorkerLimits(settings.runs_per_process, min(settings.browser_concurrency, settings.runs_per_process)),
        grace_s=settings.shutdown_grace_seconds,
        timeouts_s={
            Strategy.HTTP: settings.http_timeout_seconds,
            Strategy.API_REPLAY: settings.http_timeout_seconds,
            Strategy.BROWSER: settings.browser_nav_timeout_ms / 1000,
        },
        config=asdict(worker_config(settings, keys)),
        crawls=settings.max_crawls,
        scripts=settings.script_concurrency,
        max_memory_mib=default_limit_mib(workers) if max_mib is None else max_mib,
        proxies=proxies or ProxyOptions(),
        host_rules=host_rules(settings),
        keys_for=keys_for,
    )


def host_rules(settings: Settings) -> HostRules:
    delay_s = settings.host_delay_seconds
    max_delay_s = max(delay_s, settings.host_max_delay_seconds)
    pace = PaceRules(settings.host_concurrency, delay_s, max_delay_s=max_delay_s)
    return HostRules(pace, BreakerRules(settings.breaker_failures, settings.breaker_open_seconds))


def prices_of(settings: Settings) -> Prices:
    return Prices(
        settings.price_request,
        settings.price_gb,
        settings.price_browser_hour,
        settings.price_cpu_hour,
        settings.price_proxy_gb,
        max((max(price.gb, price.request) for price in _tier_prices(settings).values()), default=0.0),
    )


def _tier_prices(settings: Settings) -> dict[Tier, TierPrice]:
    """Return the configured prices; a tier of proxies without one has the price of any proxy."""
    usual = dict.fromkeys(POOL_TIERS, TierPrice(settings.price_proxy_gb)) if settings.price_proxy_gb else {}
    return {**usual, **load_proxy_config(settings).costs}


def worker_config(settings: Settings, keys: Keyring | None = None) -> WorkerConfig:
    return WorkerConfig(
        egress_allow=[str(entry) for entry in settings.egress_allow],
        user_agent=settings.agent,
        proxy_prices={tier.value: [price.gb, price.request] for tier, price in _tier_prices(settings).items()},
        max_body_bytes=settings.max_body_bytes,
        max_value_chars=settings.max_value_chars,
        max_page_links=settings.max_page_links,
        browser_concurrency=settings.browser_concurrency,
        browser_executable=settings.browser_executable,
        artifacts_dir=str(settings.artifacts_dir.absolute()) if settings.artifacts_max_bytes else None,
        files_dir=str(settings.files_dir.absolute()),
        max_file_bytes=settings.max_file_bytes,
        exports_dir=str((settings.data_dir / "exports").absolute()),
        datasets_dir=str(datasets_dir(settings)),
        hidden_paths=hidden_paths(settings),
        cache_mode=settings.http_cache.value,
        cache_dir=str(settings.cache_dir.absolute()),
        cache_max_bytes=settings.http_cache_max_bytes,
        browser_s=settings.browser_nav_timeout_ms / 1000,
        retry_base_s=settings.retry_base_seconds,
        retry_factor=settings.retry_factor,
        retry_cap_s=settings.retry_cap_seconds,
        smtp_url="" if settings.smtp_url is None else settings.smtp_url.get_secret_value(),
        smtp_from=settings.smtp_from or "",
        vault_keys=keys.texts() if keys else [],
    )


def datasets_dir(settings: Settings) -> Path:
    """Return the folder of the pack files of dataset builds."""
    return (settings.data_dir / "datasets").absolute()


def hidden_paths(settings: Settings) -> list[str]:
    """Return the data folder, and a database file outside of it. Scripts see empty ones instead."""
    paths = [str(settings.data_dir.absolute())]
    scheme, _, file = settings.store_url.partition(":///")
    if scheme == "sqlite" and file:
        paths += [f"{Path(file).absolute()}{suffix}" for suffix in ("", "-wal", "-shm")]
    return paths


def retention(settings: Settings) -> Retention:
    return Retention(
        settings.retention_days,
        settings.retention_max_runs,
        settings.retention_keep_records,
        settings.crawl_retention_hours or None,
        settings.dataset_retention_days,
    )
