"""Pages that fail while their neighbours do not."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from corral.domain.runs.run import RunState
from corral.wiring.app import App
from tests.engine.builders import run_node, settings_for
from tests.engine.crawl.crawling import crawl
from tests.engine.crawl.site import Page, serve_site


@pytest.fixture
async def usual(database: str | None, tmp_path: Path) -> AsyncIterator[App]:
    """With the pauses and the breaker that everybody has."""
    settings = settings_for(
        tmp_path,
        database,
        egress_allow="127.0.0.1/32:*",
        retry_base_seconds=10,
        retry_cap_seconds=300,
        breaker_failures=5,
        breaker_open_seconds=300,
    )
    async with run_node(settings) as opened:
        yield opened


@pytest.mark.parametrize("status", [403, 500])
async def test_some_failing_pages_do_not_stall_a_crawl(usual: App, status: int) -> None:
    good = {f"/good/{number}": Page() for number in range(100)}
    bad = {f"/bad/{number}": Page(status=status) for number in range(20)}
    began = time.monotonic()
    with serve_site({"/": Page([*good, *bad]), **good, **bad}) as site:
        run, found, counts = await crawl(usual, f"{site.url}/")
    assert (run.state, len(found), counts.failed) == (RunState.PARTIAL, 101, 20)
    assert {path: site.hits[path] for path in bad} == dict.fromkeys(bad, 3)
    assert time.monotonic() - began < 120, "the breaker alone takes 300 s"
