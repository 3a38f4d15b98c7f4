import pytest

from corral.domain.errors import RunNotFound, WrongState
from corral.domain.jobs.job import Priority
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.run import HoldReason, RunAction, RunState, spoken
from corral.runtime.new_ids import new_id
from corral.store.store import Store
from tests.store.builders import (
    CREATED,
    a_run,
    add,
    add_many,
    check_history,
    claim_new,
    complete,
    history,
    hold,
    settle,
)


async def test_a_run_is_read_as_it_was_written(store: Store) -> None:
    new = a_run("job", priority=Priority.HIGH, payload={"url": "http://x.test/ü", "n": [1, None, True]})
    assert await store.runs.add([(new, CREATED)]) == ([new.id], False)

    run = await store.runs.get(new.id)
    assert (run.id, run.job_id, run.kind, run.priority) == (new.id, "job", "page", Priority.HIGH)
    assert (run.state, run.attempt, run.max_attempts) == (RunState.QUEUED, 1, 3)
    assert (run.epoch, run.losses, run.suspect, run.owner) == (0, 0, False, None)
    assert run.payload == new.payload
    assert (run.stats, run.attempts) == ({}, ())


async def test_a_run_comes_with_all_its_first_events(store: Store) -> None:
    run = a_run()
    drafts = [EventDraft(EventKind.CREATED), EventDraft(EventKind.PROBED, {"reason": "asked for"})]
    await store.runs.add([(run, drafts)])

    events = await store.events.of_run(run.id, 0, 10)
    assert [(event.seq, event.kind) for event in events] == [(1, EventKind.CREATED), (2, EventKind.PROBED)]
    assert events[1].meta == {"reason": "asked for"}


async def test_a_run_added_again_is_recognised(store: Store) -> None:
    """An answer that was lost is asked for again with the same ids."""
    first, second = a_run(), a_run()
    await store.runs.add([(first, CREATED)])
    assert await store.runs.add([(first, CREATED), (second, CREATED)]) == ([first.id, second.id], False)
    assert await history(store, first.id) == await history(store, second.id) == [EventKind.CREATED]


async def test_a_run_that_is_not_there_is_named(store: Store) -> None:
    missing = new_id()
    with pytest.raises(RunNotFound, match=missing):
        await store.runs.get(missing)
    for move in (RunAction.CANCEL, RunAction.PAUSE, RunAction.RESUME):
        with pytest.raises(RunNotFound, match=missing):
            await store.runs.apply_action(missing, move)


async def test_runs_are_listed_newest_first_page_by_page(store: Store) -> None:
    ids = await add_many(store, [a_run() for _ in range(5)])
    first = await store.runs.newest(None, None, None, 3)
    rest = await store.runs.newest(None, None, first[-1].id, 3)
    assert [run.id for run in [*first, *rest]] == ids[::-1]


async def test_runs_are_listed_by_job_and_state(store: Store) -> None:
    ours = await add_many(store, [a_run("ours"), a_run("ours")])
    theirs = await add(store, a_run("theirs"))
    await store.runs.apply_action(ours[0], RunAction.CANCEL)

    async def list_ids(job_id: str | None, state: RunState | None) -> list[str]:
        return [run.id for run in await store.runs.newest(job_id, state, None, 10)]

    assert await list_ids("ours", None) == ours[::-1]
    assert await list_ids(None, RunState.QUEUED) == [theirs, ours[1]]
    assert await list_ids("ours", RunState.QUEUED) == [ours[1]]
    assert await list_ids(None, RunState.CANCELLED) == [ours[0]]
    assert await list_ids("theirs", RunState.FAILED) == []


async def test_live_runs_are_counted(store: Store) -> None:
    ids = await add_many(store, [a_run() for _ in range(4)])
    await store.runs.apply_action(ids[0], RunAction.PAUSE)
    await store.runs.apply_action(ids[1], RunAction.CANCEL)
    await store.runs.claim_one(ids[2], owner := "me", 10)  # type: ignore[arg-type]
    assert owner
    assert await store.runs.count_live() == {"held": 1, "queued": 1, "running": 1}


async def _in_state(store: Store, state: RunState) -> str:
    if state is RunState.QUEUED:
        return await add(store)
    lease = await claim_new(store)
    if state is RunState.HELD:
        await settle(store, hold(lease))
    elif state is RunState.COMPLETED:
        await settle(store, complete(lease))
    elif state is RunState.CANCELLED:
        await store.runs.apply_action(lease.run_id, RunAction.CANCEL)
    return lease.run_id


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING, RunState.HELD])
async def test_a_live_run_can_be_cancelled(store: Store, state: RunState) -> None:
    run = await store.runs.apply_action(await _in_state(store, state), RunAction.CANCEL)
    assert (run.state, run.failure_code, run.owner, run.lease_until) == (
        RunState.CANCELLED,
        "cancelled",
        None,
        None,
    )
    assert run.finished_at is not None
    assert await store.runs.get(run.id) == run
    await check_history(store, run.id)


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING])
async def test_a_paused_run_is_not_claimed_until_it_is_resumed(store: Store, state: RunState) -> None:
    run = await store.runs.apply_action(await _in_state(store, state), RunAction.PAUSE)
    assert (run.state, run.hold_reason) == (RunState.HELD, HoldReason.PAUSED)
    assert await store.runs.claim("me", 10, 10) == []  # type: ignore[arg-type]

    resumed = await store.runs.apply_action(run.id, RunAction.RESUME)
    assert (resumed.state, resumed.hold_reason) == (RunState.QUEUED, None)
    assert len(await store.runs.claim("me", 10, 10)) == 1  # type: ignore[arg-type]
    await check_history(store, run.id)


@pytest.mark.parametrize("move", [RunAction.CANCEL, RunAction.PAUSE, RunAction.RESUME])
@pytest.mark.parametrize("state", [RunState.COMPLETED, RunState.CANCELLED])
async def test_what_has_ended_stays_as_it_is(store: Store, state: RunState, move: RunAction) -> None:
    run_id = await _in_state(store, state)
    before = await store.runs.get(run_id), await history(store, run_id)
    with pytest.raises(WrongState, match=state.value) as refusal:
        await store.runs.apply_action(run_id, move)
    assert (refusal.value.code, refusal.value.state) == ("already_terminal", state.value)
    assert (await store.runs.get(run_id), await history(store, run_id)) == before


@pytest.mark.parametrize(
    "state, move",
    [(RunState.HELD, RunAction.PAUSE), (RunState.QUEUED, RunAction.RESUME), (RunState.RUNNING, RunAction.RESUME)],
)
async def test_a_move_the_state_forbids_names_the_state(store: Store, state: RunState, move: RunAction) -> None:
    run_id = await _in_state(store, state)
    run = await store.runs.get(run_id)
    with pytest.raises(WrongState, match=spoken(run.state, run.hold_reason)) as refusal:
        await store.runs.apply_action(run_id, move)
    assert refusal.value.code == "wrong_state"
