"""Races have one winner: cancel against claim and settle, reaper against owner, poison against the cap."""

import asyncio
import random
from collections import Counter
from pathlib import Path

from corral.domain.errors import WrongState
from corral.domain.ids import Owner
from corral.domain.runs.outcome import Fetched
from corral.domain.runs.retry import RetryPolicy
from corral.domain.runs.run import RunAction, RunState
from corral.engine.worker.attempt import settlement_of
from corral.store.open import open_store
from corral.store.store import Store
from tests.chaos.client import Client, client_of
from tests.chaos.history import check, read
from tests.chaos.level import SEED, by_level, make_random
from tests.chaos.report import report
from tests.chaos.stack import Stack
from tests.engine.builders import drill, put, wait_for_runs
from tests.store.builders import settle

CANCELS = by_level(100, 1000)
REAPS = by_level(60, 10_000)


async def test_a_cancel_at_any_moment_has_one_winner_and_leaves_no_result(stack: Stack) -> None:
    node = stack.node(workers=2, runs_per_process=20)
    node.wait_for_message("ready")
    rng = make_random()
    async with client_of(stack.url, stack.folder) as client:
        answers: dict[str, RunState] = {}
        for _ in range(CANCELS // 50):
            answers |= await asyncio.gather(*(race(client, rng) for _ in range(50)))
        while len(set(answers.values())) < 2 and len(answers) < 4 * CANCELS:  # one of them is slow today
            answers |= await asyncio.gather(*(race(client, rng) for _ in range(10)))
        await client.wait_until_drained()
        await asyncio.sleep(0.5)  # for outcomes that come too late
        runs = await client.runs()
        assert [(run.id, run.state) for run in runs if answers[run.id] is not run.state] == []
        history = read(stack.url)
        assert [id_ for id_, state in answers.items() if state is RunState.CANCELLED and history.records.get(id_)] == []
        assert check(stack.url, client.answered) == []
    found = Counter(state.value for state in answers.values())
    report(f"{CANCELS} cancel races on {stack.url.partition(':')[0]}: {dict(found)} (seed {SEED})")
    assert len(found) == 2, "the races were too tame"


async def race(client: Client, rng: random.Random) -> tuple[str, RunState]:
    """Submit, wait a random moment, perhaps pause and resume, cancel; the state it has to end in."""
    [id_] = await client.submit(drill("sleep", seconds=rng.choice([0.0, 0.05, 0.3]), record=True))
    await asyncio.sleep(rng.choice([0.0, rng.uniform(0, 0.05), rng.uniform(0, 0.6)]))
    try:
        if rng.random() < 0.3:
            await client.app.submitter.apply_action(id_, RunAction.PAUSE)
            await asyncio.sleep(rng.uniform(0, 0.05))
            await client.app.submitter.apply_action(id_, RunAction.RESUME)
            await asyncio.sleep(rng.uniform(0, 0.1))
        return id_, (await client.app.submitter.apply_action(id_, RunAction.CANCEL)).state
    except WrongState as refused:
        return id_, RunState(refused.state)


async def test_an_owner_that_finishes_while_it_is_reaped_wins_or_writes_nothing(url: str, tmp_path: Path) -> None:
    owners, reapers = open_store(url), open_store(url)
    rng, wins = make_random(), Counter[str]()
    async with client_of(url, tmp_path) as client:
        for _ in range(REAPS):
            await client.submit(drill())
        for _ in range(REAPS):
            wins[await reap_race(owners, reapers, rng)] += 1
        for run in await client.runs():
            if not run.state.is_terminal:
                await client.app.store.runs.apply_action(run.id, RunAction.CANCEL)
        assert check(url, client.answered) == []
    await owners.close()
    await reapers.close()
    report(f"{REAPS} races of a reaper with an owner on {url.partition(':')[0]}: {dict(wins)} (seed {SEED})")
    assert set(wins) == {"owner", "reaper"}, "the races were too tame"


async def reap_race(owners: Store, reapers: Store, rng: random.Random) -> str:
    """Both at the same expired lease, at once; who got it."""
    [lease] = await owners.runs.claim(Owner("an owner"), 1, -0.001)
    settlement = settlement_of(lease, Fetched(), RetryPolicy(), now=lease.run.created_at, took_s=0)

    async def settle_late() -> bool:
        await asyncio.sleep(rng.choice([0, 0.001, 0.002]))
        return await settle(owners, settlement)

    async def reap_late() -> int:
        await asyncio.sleep(rng.choice([0, 0.001, 0.002]))
        return await reapers.runs.reap()

    settled, reaped = await asyncio.gather(settle_late(), reap_late())
    assert settled == (reaped == 0), "both won, or nobody"
    if reaped:
        await owners.runs.apply_action(lease.run_id, RunAction.CANCEL)
    return "owner" if settled else "reaper"


async def test_an_outcome_of_an_earlier_epoch_is_refused_although_its_owner_is_the_same(
    url: str, tmp_path: Path
) -> None:
    async with client_of(url, tmp_path) as client:
        store = client.app.store
        [id_] = await client.submit(drill())
        [old] = await store.runs.claim(Owner("the same"), 1, 10)
        await store.runs.apply_action(id_, RunAction.PAUSE)
        await store.runs.apply_action(id_, RunAction.RESUME)
        [new] = await store.runs.claim(Owner("the same"), 1, 10)
        found = [Fetched(records=({"by": lease.epoch},)) for lease in (old, new)]
        outcomes = [
            settlement_of(lease, outcome, RetryPolicy(), now=lease.run.created_at, took_s=0)
            for lease, outcome in zip((old, new), found, strict=True)
        ]
        assert await store.runs.settle_all(outcomes) == [False, True]
        assert await store.runs.release([old], "shutdown") == 0
        assert [record.data for record in await store.records.of_run(id_, "", 10)] == [{"by": 2}]
        assert check(url, client.answered) == []


async def test_a_run_that_kills_its_workers_is_stopped_at_the_cap(file_stack: Stack) -> None:
    node = file_stack.node(workers=2, runs_per_process=10)
    node.wait_for_message("ready")
    async with client_of(file_stack.url, file_stack.folder) as client:
        good = await client.submit(*[drill("sleep", seconds=0.05, record=True) for _ in range(100)])
        bad = await client.submit(drill("die", signal="SIGSEGV"), drill("die", signal="SIGABRT"))
        good += await client.submit(*[drill("sleep", seconds=0.05, record=True) for _ in range(100)])
        await client.wait_until_drained()
        assert {run.state for run in await client.runs(good)} == {RunState.COMPLETED}
        quarantined = await client.runs(bad)
        assert {(run.hold_reason, run.failure_detail, run.losses) for run in quarantined} == {
            ("quarantined", "poison", 3)
        }
        assert check(file_stack.url, client.answered, drained=False) == []


async def test_the_state_of_a_run_is_the_same_for_everybody_who_asks(file_stack: Stack) -> None:
    node = file_stack.node()
    node.wait_for_message("ready")
    async with client_of(file_stack.url, file_stack.folder) as client:
        ids = await put(client.app, *[drill(record=True) for _ in range(20)])
        runs = await wait_for_runs(client.app, ids)
        assert runs == await client.runs(ids)
