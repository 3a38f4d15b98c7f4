"""What a node claims: the order of the database decides, and messages are accounted for."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from corral.domain.hosts.claiming import ANY_HOST
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.loss import Blame, Loss
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.queues import EVERY_QUEUE, Queue
from corral.domain.runs.run import EVERY_LANE, Lanes, NewRun
from corral.engine.node.sources import LEFT_IN_QUEUE, NOT_CLAIMED, MessageSource, PollingSource, RunDelivery
from corral.runtime.new_ids import new_owner
from corral.wiring.app import App
from corral.wiring.roles import open_client
from tests.engine.builders import drill, put, settings_for

ME = new_owner()


class Now:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


class Told:
    """A source that messages wake, and what it reported of each message."""

    def __init__(self, app: App, queues: tuple[Queue, ...] = EVERY_QUEUE) -> None:
        self.now = Now()
        self.said: list[tuple[str, str]] = []
        self.asked = MessageSource(app.store, queues, clock=self.now)

    def name(self, *runs: NewRun) -> None:
        for run in runs:
            self.ask(run.id)

    def ask(self, run_id: str) -> None:
        def note_taken() -> None:
            self.said.append((run_id, "taken"))

        def note_end(how: str) -> None:
            self.said.append((run_id, how))

        self.asked.deliver(RunDelivery(run_id, note_taken, note_end))

    async def claim(self, room: int = 10, lanes: Lanes = EVERY_LANE) -> list[str]:
        return [lease.run_id for lease in await self.asked.claim(ME, room, lanes, ANY_HOST)]


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with open_client(settings_for(tmp_path)) as made:
        yield made


@pytest.fixture
def told(app: App) -> Told:
    return Told(app)


def by_browser() -> NewRun:
    run = drill()
    return NewRun(
        run.id, None, "page", run.priority, 3, Strategy.BROWSER, Strategy.BROWSER, Payload({"url": "http://a.example/"})
    )


async def test_the_order_of_the_database_decides_not_that_of_messages(app: App, told: Told) -> None:
    older, low, named, high = drill(), drill(priority=Priority.LOW), drill(), drill(priority=Priority.HIGH)
    await put(app, older, low, named, high)
    told.name(named, low)
    assert await told.claim(room=2) == [high.id, older.id], "without a message, and first"
    assert told.said == []
    assert await told.claim(room=2) == [named.id, low.id]
    assert told.said == [(named.id, "taken"), (low.id, "taken")]
    told.asked.forget([])
    assert told.said[2:] == [(named.id, "executed"), (low.id, "executed")] or told.said[2:] == [
        (low.id, "executed"),
        (named.id, "executed"),
    ]


async def test_a_run_that_a_dead_worker_left_is_claimed_before_newer_ones_with_messages(app: App, told: Told) -> None:
    lost, *newer = [drill() for _ in range(4)]
    await put(app, lost)
    [lease] = await app.store.runs.claim(ME, 1, 10.0)
    await put(app, *newer)
    told.name(*newer)
    await app.store.runs.lose([Loss(lease, Blame.NONE, "killed by SIGKILL")])
    assert (await told.claim(room=1)) == [lost.id]


async def test_a_message_that_comes_twice_is_answered_twice_and_obeyed_once(app: App, told: Told) -> None:
    run = drill()
    await put(app, run)
    told.name(run, run)
    assert await told.claim() == [run.id]
    told.name(run)
    assert told.said == [(run.id, "taken")] * 3
    told.asked.forget([])
    assert told.said[3:] == [(run.id, "executed")] * 3
    told.name(run)
    assert told.said[-1] == (run.id, NOT_CLAIMED), "late"


async def test_more_than_fits_stays_with_its_messages_for_a_while(app: App, told: Told) -> None:
    runs = [drill() for _ in range(5)]
    await put(app, *runs)
    told.name(*runs)
    assert len(await told.claim(room=2)) == 2
    assert told.asked.waiting == 3
    told.now.at += 60
    assert len(await told.claim(room=2)) == 2
    assert (told.asked.waiting, told.said[-1]) == (0, (runs[4].id, LEFT_IN_QUEUE))
    assert await told.claim(room=2) == [runs[4].id], "the database has not forgotten it"


async def test_a_message_for_a_run_that_cannot_be_claimed_is_answered(app: App, told: Told) -> None:
    page = by_browser()
    await put(app, page)
    told.name(page)
    told.ask("no such run")
    assert await told.claim(lanes=Lanes(browsers=0)) == []
    assert {said for said in told.said if said[1] != "taken"} == {(page.id, NOT_CLAIMED), ("no such run", NOT_CLAIMED)}
    assert await told.claim() == [page.id]


async def test_a_lane_that_is_full_does_not_keep_others_waiting_and_none_starves(app: App, told: Told) -> None:
    page, lights = by_browser(), [drill() for _ in range(3)]
    await put(app, page, *lights)
    assert await told.claim(room=1, lanes=Lanes(browsers=0)) == [lights[0].id]
    assert await told.claim(room=1) == [page.id], "the oldest, although light ones wait"


async def test_whoever_serves_one_queue_leaves_the_others_alone(app: App) -> None:
    page, light = by_browser(), drill()
    await put(app, page, light)
    browsers, http = PollingSource(app.store, (Queue.BROWSER,)), PollingSource(app.store, (Queue.HTTP,))
    assert [lease.run_id for lease in await browsers.claim(ME, 10, EVERY_LANE, ANY_HOST)] == [page.id]
    assert [lease.run_id for lease in await browsers.claim(ME, 10, EVERY_LANE, ANY_HOST)] == []
    assert [lease.run_id for lease in await http.claim(ME, 10, EVERY_LANE, ANY_HOST)] == [light.id]


async def test_due_again_are_those_that_wait_for_a_second_time(app: App) -> None:
    fresh, again = drill(), drill()
    await put(app, fresh, again)
    [lease] = await app.store.runs.claim_one(again.id, ME, 10.0)
    await app.store.runs.release([lease], "test")
    assert [hint.run_id for hint in await app.store.runs.due_again(10.0, 100)] == [again.id]
    assert await app.store.runs.due_again(10.0, 0) == []
