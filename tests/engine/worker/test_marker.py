"""Which tasks carry the mark of a run: its own, and nothing that outlives it."""

import asyncio

import pytest

from corral.demo import running_site
from corral.domain.runs.outcome import Fetched
from corral.engine.worker.marker import SharedMark, context_of, mark_steps
from corral.extract.page_reader import ReadAnswer
from corral.fetch.parsing.pool import ParsePool
from tests.fetch.browsing import a_task, open_browser
from tests.fetch.parser_builders import ORDINARY, a_request
from tests.waiting import until

RUN = ("a-run", 1)


@pytest.fixture
async def mark() -> SharedMark:
    made, _ = SharedMark.create()
    mark_steps(asyncio.get_running_loop(), made)
    return made


def list_marked_tasks() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if type(task.get_coro()).__name__ == "_Marked"]


async def test_every_task_of_a_run_carries_its_mark(mark: SharedMark) -> None:
    seen = []

    async def look() -> None:
        await asyncio.sleep(0)
        seen.append(mark.find([RUN]))

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(look())
        await asyncio.gather(look(), asyncio.wait_for(look(), 5))
        await asyncio.to_thread(lambda: None)
        await look()

    await asyncio.create_task(run(), context=context_of(RUN))
    await look()
    assert seen == [RUN, RUN, RUN, RUN, None]


async def test_a_parser_that_a_run_started_does_not_carry_its_mark(mark: SharedMark) -> None:
    pool = ParsePool()
    try:
        read = asyncio.create_task(pool.read(a_request(ORDINARY)), context=context_of(RUN))
        assert isinstance(await read, ReadAnswer)
        assert list_marked_tasks() == []
    finally:
        await pool.close()
    assert mark.find([RUN]) is None


@pytest.mark.browser
async def test_a_browser_that_a_run_started_does_not_carry_its_mark(mark: SharedMark) -> None:
    async with running_site() as site, open_browser(site.port) as browser:
        task = a_task(f"{site.url}/shop/2", "name")
        assert isinstance(await asyncio.create_task(browser.execute(task), context=context_of(RUN)), Fetched)
        await until(lambda: list_marked_tasks() == [])  # its page is closed without anybody waiting
    assert mark.find([RUN]) is None
