"""Nodes on record, what they hold, and the depth of the queues: on every database."""

import re

from corral.domain.ids import Owner
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.node import Neglect, NodeInfo, NodeRole, NodeState, QueueNow
from corral.domain.runs.queues import Queue
from corral.domain.runs.run import RunAction
from corral.runtime.new_ids import new_owner
from corral.store.store import Store
from tests.store.builders import a_run, add, add_many, claim, complete, retry, settle
from tests.store.conftest import Sql

ALL = tuple(queue.value for queue in Queue)


def a_card(owner: str | None = None, queues: tuple[str, ...] = ALL) -> NodeInfo:
    return NodeInfo(Owner(owner or new_owner()), "here", 7, NodeRole.WORKER, "embedded", queues, 100, "1.2")


async def send_heartbeat(store: Store, info: NodeInfo, *, is_stopping: bool = False) -> None:
    await store.nodes.heartbeat(info, 2, is_stopping=is_stopping)


async def test_a_node_is_on_record_from_its_first_sign_of_life_until_it_is_struck(store: Store) -> None:
    info = a_card()
    assert await store.nodes.list_all() == []

    await send_heartbeat(store, info)
    [first] = await store.nodes.list_all()
    await send_heartbeat(store, info, is_stopping=True)
    [second] = await store.nodes.list_all()
    await store.nodes.remove(info.owner)

    assert (first.info, first.processes, first.state, first.holding) == (info, 2, NodeState.LIVE, 0)
    assert second.state is NodeState.STOPPING
    assert second.started_at == first.started_at
    assert await store.nodes.list_all() == []


async def test_one_that_is_not_seen_is_lost_and_after_an_hour_forgotten(store: Store, sql: Sql) -> None:
    lost, old, alive = a_card(), a_card(), a_card()
    for info in (lost, old, alive):
        await send_heartbeat(store, info)
    sql(f"UPDATE nodes SET seen_at = seen_at - 10100 WHERE owner = '{lost.owner}'")
    sql(f"UPDATE nodes SET seen_at = seen_at - 3601000 WHERE owner = '{old.owner}'")

    await send_heartbeat(store, alive)

    states = {worker.info.owner: worker.state for worker in await store.nodes.list_all()}
    assert states == {lost.owner: NodeState.LOST, alive.owner: NodeState.LIVE}


async def test_what_a_node_holds_is_read_from_the_runs(store: Store) -> None:
    info, other = a_card("a" * 32), a_card("b" * 32)
    for each in (info, other):
        await send_heartbeat(store, each)
    ids = await add_many(store, [a_run("job-1") for _ in range(23)])
    leases = [await claim(store, info.owner) for _ in ids]
    await add(store)
    await claim(store, other.owner)
    await settle(store, complete(leases[0]))

    mine, theirs = await store.nodes.list_all()
    page = await store.nodes.runs_of(info.owner, "", 10)
    rest = await store.nodes.runs_of(info.owner, page[-1].id, 100)

    assert (mine.holding, len(mine.runs), theirs.holding) == (22, 20, 1)
    assert [run.id for run in (*page, *rest)] == sorted(ids[1:])
    assert mine.runs[0].job_id == "job-1"
    assert mine.runs[0].kind == "page"
    assert 0 < mine.runs[0].lease_left_s <= 10
    assert mine.runs[0].since is not None


async def test_workers_are_listed_page_by_page(store: Store) -> None:
    for digit in "abc":
        await send_heartbeat(store, a_card(digit * 32))
    first = await store.nodes.list_all("", 2)
    second = await store.nodes.list_all(first[-1].info.owner, 2)
    assert [worker.info.owner[0] for worker in (*first, *second)] == ["a", "b", "c"]


def depth(queue: QueueNow, priority: Priority) -> tuple[int, int, int]:
    [band] = [band for band in queue.bands if band.priority is priority]
    return band.due, band.later, band.held


async def test_the_depth_of_queues_by_priority_and_state(store: Store, sql: Sql) -> None:
    await add_many(store, [a_run(priority=Priority.HIGH) for _ in range(3)])
    await settle(store, retry(await claim(store), due_in_s=60))
    await claim(store)
    await add(store, a_run(kind="crawl", priority=Priority.HIGH))
    paused = await add(store, a_run(resolved_strategy=Strategy.BROWSER))
    await store.runs.apply_action(paused, RunAction.PAUSE)
    waiting = await add(store, a_run(resolved_strategy=Strategy.BROWSER))
    parked = "waiting_host = 'x', waiting_reason = 'breaker', due_at = due_at + 60000"
    sql(f"UPDATE runs SET {parked} WHERE id = '{waiting}'")
    await add(store, a_run(resolved_strategy=Strategy.BROWSER, priority=Priority.LOW))
    sql("UPDATE runs SET due_at = due_at - 40000 WHERE priority = 1 AND state = 'queued' AND kind = 'crawl'")

    http, browser, script = await store.runs.count_queues()

    assert depth(http, Priority.HIGH) == (2, 1, 0)
    assert (http.running, browser.running) == (1, 0)
    assert depth(browser, Priority.MEDIUM) == (0, 0, 2)
    assert depth(browser, Priority.LOW) == (1, 0, 0)
    assert http.oldest_s is not None
    assert 40 <= http.oldest_s < 60
    assert (script.due, script.later, script.held, script.oldest_s) == (0, 0, 0, None)


async def test_due_work_that_nobody_alive_serves_is_neglected(store: Store, sql: Sql) -> None:
    await add(store, a_run(resolved_strategy=Strategy.BROWSER, priority=Priority.LOW))
    sql("UPDATE runs SET due_at = due_at - 40000")
    assert [each.queue for each in await store.runs.find_neglected(30)] == [Queue.BROWSER]
    assert await store.runs.find_neglected(50) == []

    info = a_card(queues=("http",))
    await send_heartbeat(store, info)
    [found] = await store.runs.find_neglected(30)
    assert isinstance(found, Neglect)
    assert re.search(r"have waited for [4-9]\d s and no node serves it", found.sentence)
    full = a_card()
    await send_heartbeat(store, full)
    assert await store.runs.find_neglected(30) == []
    await send_heartbeat(store, full, is_stopping=True)
    assert await store.runs.find_neglected(30) != []
    await send_heartbeat(store, full)
    sql("UPDATE nodes SET seen_at = seen_at - 11000")
    assert await store.runs.find_neglected(30) != []
