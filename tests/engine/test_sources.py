"""What a node claims: what messages name, and what they forgot."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from corral.domain.ids import new_owner
from corral.domain.job import Priority, Strategy
from corral.domain.queues import EVERY_QUEUE, Hint, Lane, Queue, hint_of
from corral.domain.run import EVERY_LANE, Lanes, NewRun
from corral.engine.sources import NO_ROOM, NOT_CLAIMED, OVERDUE_S, Asked, Errand, Oldest
from corral.wiring import App, opened
from tests.engine.build import drill, put, settings_for

ME = new_owner()


class Now:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


class Told:
    """A source that messages point to, and what was said of each message."""

    def __init__(self, app: App, queues: tuple[Queue, ...] = EVERY_QUEUE) -> None:
        self.now = Now()
        self.hears = True
        self.backlog = False
        self.said: list[tuple[str, str]] = []
        self.asked = Asked(app.store, queues, lambda: self.hears, lambda: self.backlog, clock=self.now)

    def name(self, *runs: NewRun) -> None:
        for run in runs:
            self.hint(hint_of(run))

    def hint(self, hint: Hint) -> None:
        taken, ended = (
            (lambda: self.said.append((hint.run_id, "taken"))),
            (lambda how: self.said.append((hint.run_id, how))),
        )
        self.asked.ask(Errand(hint, taken, ended))

    async def claim(self, room: int = 10, lanes: Lanes = EVERY_LANE) -> list[str]:
        return [lease.run_id for lease in await self.asked.claim(ME, room, lanes)]


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with opened(settings_for(tmp_path), works=False) as made:
        yield made


@pytest.fixture
def told(app: App) -> Told:
    return Told(app)


def by_browser() -> NewRun:
    run = drill()
    return NewRun(
        run.id, None, "page", run.priority, 3, Strategy.BROWSER, Strategy.BROWSER, {"url": "http://a.example/"}
    )


async def test_what_a_message_names_is_claimed_and_nothing_else(app: App, told: Told) -> None:
    named, other = drill(), drill()
    await put(app, other, named)
    told.name(named)
    assert await told.claim() == [named.id]
    assert told.said == [(named.id, "taken")]
    told.asked.forget([])
    assert told.said[-1] == (named.id, "executed")


async def test_a_message_that_comes_twice_is_answered_twice_and_obeyed_once(app: App, told: Told) -> None:
    run = drill()
    await put(app, run)
    told.name(run, run)
    assert await told.claim() == [run.id]
    told.name(run)
    assert await told.claim() == []
    assert told.said.count((run.id, NOT_CLAIMED)) == 2


async def test_more_than_fits_stays_with_its_messages(app: App, told: Told) -> None:
    runs = [drill() for _ in range(3)]
    await put(app, *runs)
    told.name(*runs)
    assert len(await told.claim(room=2)) == 2
    assert told.asked.waiting == 1
    assert len(await told.claim(room=2)) == 1


async def test_pages_for_a_browser_do_not_keep_others_waiting_and_are_not_forgotten(app: App, told: Told) -> None:
    pages, light = [by_browser() for _ in range(3)], drill()
    await put(app, *pages, light)
    told.name(*pages, light)
    lanes = Lanes(browsers=1)
    assert await told.claim(lanes=lanes) == [pages[0].id, light.id]
    assert [said for _, said in told.said].count(NO_ROOM) == 2
    assert await told.claim(lanes=Lanes(browsers=0)) == []
    assert await told.claim(lanes=lanes) == [pages[1].id], "from the database, without a message"


async def test_a_run_nobody_was_told_of_is_found_by_its_age(app: App, told: Told) -> None:
    await put(app, drill())
    told.now.at += 60
    assert await told.claim() == [], "it has just come"
    told.now.at += 60
    found = await app.store.claim(ME, 10, 10.0, overdue_s=OVERDUE_S)
    assert found == [], "the database agrees"
    assert len(await app.store.claim(ME, 10, 10.0, overdue_s=0.0)) == 1


async def test_without_messages_it_looks_for_itself(app: App, told: Told) -> None:
    run = drill()
    await put(app, run)
    told.now.at += 1
    assert await told.claim() == []
    told.hears = False
    told.now.at += 1
    assert await told.claim() == [run.id]


async def test_ahead_of_many_messages_it_takes_the_next_from_the_database(app: App, told: Told) -> None:
    low, high = drill(priority=Priority.LOW), drill(priority=Priority.HIGH)
    await put(app, low, high)
    told.backlog = True
    assert await told.claim(room=1) == [high.id], "by band, whatever the order of the messages"
    told.name(high, low)
    assert await told.claim() == [low.id]
    assert (high.id, NOT_CLAIMED) in told.said


async def test_a_node_that_lost_workers_looks_at_once(app: App, told: Told) -> None:
    run = drill()
    await put(app, run)
    assert await told.claim() == []
    told.asked.woken()
    assert await told.claim() == [run.id]


async def test_whoever_serves_one_queue_leaves_the_others_alone(app: App) -> None:
    page, light = by_browser(), drill()
    await put(app, page, light)
    browsers = Oldest(app.store, (Queue.BROWSER,))
    assert [lease.run_id for lease in await browsers.claim(ME, 10, EVERY_LANE)] == [page.id]
    told = Told(app, (Queue.BROWSER,))
    told.name(light)
    told.asked.woken()
    assert await told.claim() == []
    assert [lease.run_id for lease in await Oldest(app.store, (Queue.HTTP,)).claim(ME, 10, EVERY_LANE)] == [light.id]


async def test_a_hint_for_another_lane_claims_nothing(app: App, told: Told) -> None:
    """It was escalated since the message was sent: the room was for a light one."""
    page = by_browser()
    await put(app, page)
    told.hint(Hint(page.id, Queue.HTTP, Lane.LIGHT))
    assert await told.claim() == []
    assert told.said[-1] == (page.id, NOT_CLAIMED)


async def test_due_again_are_those_that_wait_for_a_second_time(app: App) -> None:
    fresh, again = drill(), drill()
    await put(app, fresh, again)
    [lease] = await app.store.claim_one(again.id, ME, 10.0)
    await app.store.release([lease], "test")
    assert [hint.run_id for hint in await app.store.due_again(10.0, 100)] == [again.id]
    assert await app.store.due_again(10.0, 0) == []
