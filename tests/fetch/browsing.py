"""What the tests with a real Chromium share."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.domain.ports.execution import Task
from corral.domain.runs.payload.stored import Payload
from corral.fetch.browser.engine import Engine
from corral.fetch.browser.executor import BrowserExecutor
from corral.fetch.browser.launch_args import HOW_TO_INSTALL, BrowserLimits, find_chromium
from corral.fetch.egress.client import Egress
from corral.fetch.limits import FetchLimits
from corral.fetch.parsing.pool import PageReader
from corral.fetch.proxy.passes import ProxyLimits
from corral.fetch.robots import Robots
from corral.files.artifacts import ArtifactFolder
from tests.fetch.hostile import ROUTES, Request


def needs_chromium() -> None:
    """Skipped on a laptop without one, an error on CI."""
    if find_chromium() is None:
        if os.environ.get("CI"):
            pytest.fail(f"no Chromium on CI; {HOW_TO_INSTALL}")
        pytest.skip(f"no Chromium; {HOW_TO_INSTALL}")


@asynccontextmanager
async def open_browser(
    *ports: int,
    limits: BrowserLimits | None = None,
    proxy_limits: ProxyLimits | None = None,
    folder: ArtifactFolder | None = None,
    reader: PageReader | None = None,
) -> AsyncIterator[BrowserExecutor]:
    """A browser that may reach these ports of 127.0.0.1 and nothing else that is private."""
    needs_chromium()
    policy = EgressPolicy(tuple(AllowEntry.parse(f"127.0.0.1/32:{port}") for port in ports))
    egress = Egress(policy, FetchLimits(), "corral-test")
    robots = Robots(egress, "corral-test")
    executor = BrowserExecutor(egress, robots, "corral-test", limits, proxy_limits, folder=folder, reader=reader)
    try:
        yield executor
    finally:
        await executor.close()
        await egress.close()


def a_task(url: str, *names: str, timeout_s: float = 20, **more: Any) -> Task:
    fields = [{"name": name} for name in names]
    payload = {"url": url, "fields": fields, "respect_robots": False, "trusted_hosts": [], **more}
    return Task("run", 1, "page", "browser", 1, Payload(payload), timeout_s)


def serve(monkeypatch: pytest.MonkeyPatch, path: str, html: str, *headers: str, status: str = "200 OK") -> None:
    async def route(request: Request) -> None:
        kind = (
            () if any(header.lower().startswith("content-type") for header in headers) else ("Content-Type: text/html",)
        )
        await request.answer(html.encode(), *kind, *headers, status=status)

    monkeypatch.setitem(ROUTES, path, route)


def engine_of(executor: BrowserExecutor) -> Engine:
    engine = executor.renderer.host.engine
    assert engine is not None
    return engine
