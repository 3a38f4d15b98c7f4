"""Helpers of the tests of proxies, shared with other tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.domain.net.proxy import parse_proxy
from corral.domain.ports.execution import Executor, Task
from corral.domain.runs.outcome import Failed, Outcome
from corral.domain.runs.payload.stored import Payload
from corral.fetch.api_replay import ApiReplayExecutor
from corral.fetch.browser.executor import BrowserExecutor
from corral.fetch.egress.client import Egress
from corral.fetch.http import HttpExecutor
from corral.fetch.proxy.route import Proxies
from corral.fetch.robots import Robots
from tests.fetch.conftest import QUICK
from tests.fetch.upstream import Upstream

PASSWORD = "canary-of-the-proxy"


@asynccontextmanager
async def executors(*ports: int, agent: str = "corral-test") -> AsyncIterator[dict[str, Executor]]:
    """Each way of fetching, allowed to reach these ports of 127.0.0.1."""
    policy = EgressPolicy(tuple(AllowEntry.parse(f"127.0.0.1/32:{port}") for port in ports))
    egress = Egress(policy, QUICK, agent)
    robots, proxies = Robots(egress, agent), Proxies(egress)
    browser = BrowserExecutor(egress, robots, agent, proxies=proxies)
    try:
        yield {
            "http": HttpExecutor(egress, robots, proxies=proxies),
            "api_replay": ApiReplayExecutor(egress, robots, proxies=proxies),
            "browser": browser,
        }
    finally:
        await browser.close()
        await proxies.close()
        await egress.close()


def a_task(url: str, proxy: str, by: str = "http", **more: Any) -> Task:
    payload = {"url": url, "fields": [{"name": "title"}], "respect_robots": False, **more}
    return Task("run", 1, "page", by, 1, Payload(payload), 20 if by == "browser" else 8, proxy=parse_proxy(proxy))


def address(upstream: Upstream, scheme: str = "http", who: str = "") -> str:
    return f"{scheme}://{who}127.0.0.1:{upstream.port}"


def name_of(outcome: Outcome) -> str:
    return f"{outcome.code}:{outcome.detail}" if isinstance(outcome, Failed) else "fetched"


WAYS = ["http", pytest.param("browser", marks=pytest.mark.browser)]
# For what other tests show of a browser already, which costs a start of its own each time.
MOSTLY_HTTP = ["http", pytest.param("browser", marks=[pytest.mark.browser, pytest.mark.long])]
