"""Which page a parser reads next."""

import asyncio

import pytest

from corral.fetch.parsing.fair_queue import FairQueue
from tests.slack import SLACK


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def a_queue(most: int, readers: int = 2, clock: Clock | None = None) -> FairQueue[str]:
    queue: FairQueue[str] = FairQueue(most, clock or Clock())
    for _ in range(readers):
        queue.add_reader()
    return queue


async def fill(queue: FairQueue[str], *pages: str) -> None:
    """Pages are named after their host: `a1`, `b2`."""
    for page in pages:
        await queue.put(page[0], page)


def read(queue: FairQueue[str], seconds: float) -> str:
    """Read the next page at once."""
    taken = queue.get_nowait()
    assert taken is not None
    queue.note_read(taken[0], seconds)
    return taken[1]


async def test_the_pages_of_one_host_keep_their_order() -> None:
    queue = a_queue(10)
    await fill(queue, "a1", "a2", "a3")
    assert [read(queue, 0.01) for _ in range(3)] == ["a1", "a2", "a3"]
    assert queue.get_nowait() is None


async def test_the_host_that_used_the_least_time_is_next() -> None:
    queue = a_queue(20)
    await fill(queue, "a1", "a2", "a3", "b1", "b2", "b3", "b4")
    order = [read(queue, 0.15 if page == "a" else 0.05) for page in "abbbabb"]
    assert order == ["a1", "b1", "b2", "b3", "a2", "b4", "a3"]


async def test_a_host_that_was_idle_has_saved_up_no_time() -> None:
    queue = a_queue(20)
    await fill(queue, "b1")
    assert read(queue, 0.01) == "b1"
    await fill(queue, *(f"a{n}" for n in range(9)))
    for _ in range(4):
        read(queue, 0.1)
    await fill(queue, "b2", "b3", "b4")
    assert [read(queue, 0.1)[0] for _ in range(4)].count("a") == 2


async def test_expensive_pages_leave_one_parser_to_other_hosts() -> None:
    clock = Clock()
    queue = a_queue(20, clock=clock)
    await fill(queue, "x1")
    assert read(queue, 3.0) == "x1"
    await fill(queue, "a1", "x2", "x3")
    assert read(queue, 0.01) == "a1"
    assert queue.get_nowait() == ("x", "x2")
    assert queue.has_expensive
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    assert not waiting.done(), "the last parser is for other hosts"
    await fill(queue, "a2")
    assert await asyncio.wait_for(waiting, 1) == ("a", "a2")
    queue.note_read("a", 0.01)
    clock.now = 60.0
    assert queue.get_nowait() == ("x", "x3"), "no other host has had a page for a while"


async def test_a_batch_of_cheap_pages_contains_no_expensive_one() -> None:
    queue = a_queue(20)
    await fill(queue, "x1")
    read(queue, 3.0)
    await fill(queue, "x2", "a1")
    assert queue.get_nowait(only_cheap=True) == ("a", "a1")
    assert queue.get_nowait(only_cheap=True) is None
    assert len(queue) == 1


async def test_a_full_queue_lets_the_next_page_wait() -> None:
    queue = a_queue(1)
    await fill(queue, "a1")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await fill(queue, "b1")
    later = asyncio.create_task(fill(queue, "b2"))
    assert read(queue, 0.01) == "a1"
    await asyncio.wait_for(later, 1)
    assert queue.drain() == ["b2"]


async def test_a_large_first_page_waits_for_a_second_parser() -> None:
    clock = Clock()
    queue = a_queue(20, readers=1, clock=clock)
    await fill(queue, "a1")
    assert read(queue, 0.01) == "a1"
    await queue.put("x", "x1", size=2_000_000)
    assert queue.has_expensive
    assert queue.get_nowait() is None
    queue.add_reader()
    assert queue.get_nowait() == ("x", "x1")


async def test_an_expensive_page_is_read_in_the_end_although_there_is_one_parser() -> None:
    clock = Clock()
    queue = a_queue(20, readers=1, clock=clock)
    await queue.put("x", "x1", size=2_000_000)
    await fill(queue, "a1")
    assert read(queue, 0.01) == "a1"
    clock.now = 6.0
    await fill(queue, "a2")
    assert {read(queue, 0.01), read(queue, 0.01)} == {"a2", "x1"}


async def test_a_waiting_parser_looks_again_without_an_event() -> None:
    clock = Clock()
    queue = a_queue(20, readers=1, clock=clock)
    await fill(queue, "a1")
    assert read(queue, 0.01) == "a1"
    await queue.put("x", "x1", size=2_000_000)
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    assert not waiting.done()
    clock.now = 6.0
    assert await asyncio.wait_for(waiting, 5 * SLACK) == ("x", "x1")
