"""What a worker process is made of. Apart from `wiring`, so that starting one loads neither store nor settings."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from corral.domain.address import AllowEntry, EgressPolicy
from corral.domain.job import Strategy
from corral.domain.ports import Executor, Kind
from corral.engine.kinds.drill import DrillKind
from corral.engine.kinds.page import PageKind
from corral.fetch.api_replay import ApiReplayExecutor
from corral.fetch.browser import BrowserExecutor
from corral.fetch.browser_args import BrowserLimits
from corral.fetch.browser_home import sweep_homes
from corral.fetch.egress import Egress
from corral.fetch.http import HttpExecutor
from corral.fetch.limits import FetchLimits
from corral.fetch.parse_pool import ParsePool, current_reader
from corral.fetch.robots import Robots
from corral.fetch.sessions import SessionKeys, WithSession


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """What it is told of the settings; it travels as JSON."""

    egress_allow: list[str]
    user_agent: str
    max_body_bytes: int
    browser_concurrency: int
    vault_keys: list[str] = field(default_factory=list, repr=False)  # what opens the sessions of jobs


def egress_policy(allow: list[str]) -> EgressPolicy:
    return EgressPolicy(tuple(AllowEntry.parse(entry) for entry in allow))


@asynccontextmanager
async def worker_kinds(config: WorkerConfig, keys: SessionKeys | None = None) -> AsyncIterator[dict[str, Kind]]:
    """Everything a worker process can execute."""
    keys = keys or SessionKeys(config.vault_keys)
    limits = FetchLimits(max_bytes=config.max_body_bytes)
    egress = Egress(egress_policy(config.egress_allow), limits, config.user_agent)
    robots = Robots(egress, config.user_agent)
    await asyncio.to_thread(sweep_homes)
    browser_limits = BrowserLimits(max_content_bytes=config.max_body_bytes, max_at_once=config.browser_concurrency)
    browser = BrowserExecutor(egress, robots, config.user_agent, browser_limits)
    pool = ParsePool()
    current_reader.set(pool)
    http = HttpExecutor(egress, robots, pool)
    executors: dict[Strategy, Executor] = {
        Strategy.HTTP: http,
        Strategy.API_REPLAY: ApiReplayExecutor(egress, robots),
        Strategy.BROWSER: browser,
    }
    try:
        yield {
            "page": PageKind({name: WithSession(each, keys) for name, each in executors.items()}),
            "drill": DrillKind(),
        }
    finally:
        await browser.close()
        await pool.close()
        await egress.close()
