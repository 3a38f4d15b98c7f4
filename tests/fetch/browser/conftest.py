"""Fixtures of a module of browser tests: the demo site, a hostile server, and a browser that may reach both."""

from collections.abc import AsyncIterator

import pytest_asyncio

from corral.demo import RunningSite, running_site
from corral.fetch.browser.executor import BrowserExecutor
from tests.fetch.browsing import open_browser
from tests.fetch.hostile import Hostile, hostile_server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[RunningSite]:
    async with running_site() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def den() -> AsyncIterator[Hostile]:
    async with hostile_server() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(site: RunningSite, den: Hostile) -> AsyncIterator[BrowserExecutor]:
    async with open_browser(site.port, den.port) as executor:
        yield executor
