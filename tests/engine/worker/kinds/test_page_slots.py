"""The slots of a crawl."""

import asyncio

import pytest

from corral.engine.worker.kinds.crawl.page_slots import CrawlSlots


def slots_of(limit: int) -> CrawlSlots:
    slots = CrawlSlots()
    slots.set_limit(limit)
    return slots


async def test_the_next_page_may_start_when_a_response_is_complete() -> None:
    slots, started = slots_of(1), []
    slots.on_free = lambda: started.append(slots.has_room(0))
    slots.begin(1)
    assert not slots.has_room(0)
    slots.free(1)
    slots.free(1)  # a second response of the same page
    assert started == [True]


async def test_a_page_that_is_requested_again_waits_for_a_slot_and_goes_before_new_pages() -> None:
    slots = slots_of(1)
    slots.begin(1)
    slots.free(1)
    slots.begin(2)
    again = asyncio.create_task(slots.take(1))
    await asyncio.sleep(0)
    assert not again.done()
    assert not slots.has_room(0)
    slots.end(2)
    await asyncio.wait_for(again, 1)
    assert len(slots) == 1


async def test_a_page_that_holds_its_slot_does_not_wait() -> None:
    slots = slots_of(1)
    slots.begin(1)
    await asyncio.wait_for(slots.take(1), 1)
    assert len(slots) == 1


async def test_a_cancelled_page_takes_no_slot() -> None:
    slots = slots_of(1)
    slots.begin(1)
    again = asyncio.create_task(slots.take(2))
    await asyncio.sleep(0)
    again.cancel()
    with pytest.raises(asyncio.CancelledError):
        await again
    slots.end(1)
    assert slots.has_room(0)


async def test_a_page_under_way_ends_although_the_crawl_may_start_no_more_here() -> None:
    slots = slots_of(1)
    slots.begin(1)
    slots.free(1)
    slots.set_limit(0)
    await asyncio.wait_for(slots.take(1), 1)
