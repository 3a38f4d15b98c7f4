"""Races, large fan-outs and long histories of workflows, over both databases."""

import asyncio
import random
import time

from corral.domain.errors import BadInput, WrongState
from corral.domain.runs.outcome import Fetched
from corral.domain.runs.run import RunAction, RunState
from corral.domain.workflows.now import WorkflowNow
from corral.store.store import Store
from tests.domain.workflows.builders import a_definition, a_step
from tests.slack import SLACK
from tests.store.builders import ME
from tests.store.queries.workflows.builders import BROKEN, claim_all, create, settle, states

MANY = 1000


async def start_fan_out(store: Store, count: int) -> str:
    each = a_step("each", "list", for_each="${steps.list.output.urls}")
    workflow_id = await create(store, a_definition(a_step("list"), each, a_step("end", "each")))
    await settle(store, (await claim_all(store))["list"], Fetched(records=({"urls": list(range(count))},)))
    return workflow_id


async def test_a_cancel_of_a_thousand_children_takes_less_than_two_seconds(store: Store) -> None:
    workflow_id = await start_fan_out(store, MANY)
    running = await store.runs.claim(ME, 50, 10)
    began = time.monotonic()
    await store.runs.apply_action(workflow_id, RunAction.CANCEL)
    keys = [lease.key for lease in running]
    assert await asyncio.to_thread(store.runs.renew_from_thread, keys, ME, 10) == set(), "their nodes learn of it"
    assert time.monotonic() - began < 2 * SLACK
    now = await store.workflows.get(workflow_id)
    assert states(now) == {"list": "completed", "each": "cancelled", "end": "cancelled"}
    assert await store.runs.count_live() == {"held": 0, "queued": 0, "running": 0}
    assert await store.maintenance.audit() == []


async def test_a_cancel_that_meets_the_last_step_leaves_one_consistent_end(store: Store) -> None:
    for _ in range(10):
        workflow_id = await create(store, a_definition(a_step("a"), a_step("b", "a")))
        await settle(store, (await claim_all(store))["a"])
        last = (await claim_all(store))["b"]
        landed, cancelled = await asyncio.gather(
            settle(store, last), store.runs.apply_action(workflow_id, RunAction.CANCEL), return_exceptions=True
        )
        now = await store.workflows.get(workflow_id)
        if landed is True:
            assert isinstance(cancelled, WrongState)
            assert (now.status, states(now)["b"], now.progress) == ("completed", "completed", 100)
        else:
            assert (now.status, states(now)["b"]) == ("cancelled", "cancelled")
        assert (await store.runs.get(last.run_id)).state.value == states(now)["b"]
    assert await store.maintenance.audit() == []


async def test_a_pause_that_meets_the_end_of_a_step_loses_no_step(store: Store) -> None:
    for _ in range(5):
        workflow_id = await create(store, a_definition(a_step("a"), a_step("b", "a")))
        first = (await claim_all(store))["a"]
        await asyncio.gather(settle(store, first), store.runs.apply_action(workflow_id, RunAction.PAUSE))
        assert await claim_all(store) == {}
        await store.runs.apply_action(workflow_id, RunAction.RESUME)
        await settle(store, (await claim_all(store))["b"])
        assert (await store.workflows.get(workflow_id)).status == "completed"


async def test_progress_never_goes_back(store: Store) -> None:
    """A long random history: retries, failures, items, conditions, pauses, recoveries from any step."""
    rng = random.Random(7)
    for _ in range(2):
        steps = [
            a_step("list"),
            a_step("each", "list", for_each="${steps.list.output.urls}"),
            a_step("some", "list", for_each="${steps.list.output.urls}", allow_failures=True),
            a_step("never", "list", when="${steps.list.output.urls[0]} > 5"),
            a_step("side", "never"),
            a_step("end", "each", "some", "side"),
        ]
        workflow_id = await create(store, a_definition(*steps, max_recovery_attempts=100))
        seen = [await _check(store, workflow_id, 0)]
        while (now := await store.workflows.get(workflow_id)).status != "completed":
            await _do_something(store, now, rng)
            seen.append(await _check(store, workflow_id, seen[-1]))
        assert seen[-1] == 100


async def _check(store: Store, workflow_id: str, before: int) -> int:
    progress = (await store.workflows.get(workflow_id)).progress
    assert progress >= before
    return progress


async def _do_something(store: Store, now: WorkflowNow, rng: random.Random) -> None:
    if now.run.state is RunState.FAILED:
        step = rng.choice([None, "list", "each", "some", "side", "end"])
        try:
            await store.workflows.recover(now.id, step)
        except BadInput:  # it has succeeded, or depends on a step that has not
            await store.workflows.recover(now.id)
        return
    if now.run.state is RunState.HELD:
        await store.runs.apply_action(now.run.id, RunAction.RESUME)
        return
    leases = await claim_all(store)
    if rng.random() < 0.2:
        await store.runs.apply_action(now.run.id, RunAction.PAUSE)
    for lease in leases.values():
        fails = rng.random() < 0.3
        outcome = BROKEN if fails else Fetched(records=({"urls": [1, 2, 3, 4]},))
        if rng.random() < 0.2:
            await store.runs.release([lease], "shutdown")
        else:
            await settle(store, lease, outcome)
        await _check(store, now.id, now.progress)


async def test_a_step_whose_recovery_races_with_another_runs_once(store: Store) -> None:
    workflow_id = await create(store, a_definition(a_step("a"), a_step("b")))
    for lease in (await claim_all(store)).values():
        await settle(store, lease, BROKEN)
    both = (store.workflows.recover(workflow_id, key) for key in ("a", "b"))
    results = await asyncio.gather(*both, return_exceptions=True)
    assert [type(each) for each in results].count(WrongState) == 1
    assert len(await claim_all(store)) == 1
    assert (await store.workflows.get(workflow_id)).recoveries == 1


async def test_of_many_creators_for_one_job_one_creates_and_the_others_join(store: Store) -> None:
    document = a_definition(a_step("a"))
    made = await asyncio.gather(*(create(store, document, job_id="7", joins=True) for _ in range(8)))
    assert len(set(made)) == 1
    await store.runs.apply_action(made[0], RunAction.CANCEL)
    again = await create(store, document, job_id="7", joins=True)
    other = await create(store, a_definition(a_step("b")), job_id="7", joins=True)
    assert len({made[0], again, other, await create(store, document, job_id="8", joins=True)}) == 4


async def test_odd_text_passes_through_outputs_and_inputs(store: Store) -> None:
    number = 10**30
    text = "${steps.a.output.secret} \0 \U0001f600 下载 \ud800 ' \" \\ \u2028"
    step = {"key": "b", "kind": "webhook", "depends_on": ["a"], "config": {"url": "http://x.test/"}}
    workflow_id = await create(store, a_definition(a_step("a"), step))
    await settle(store, (await claim_all(store))["a"], Fetched(records=({"text": text, "number": number},)))
    body = (await claim_all(store))["b"].run.payload.document()["body"]
    expected = text.replace("\0", "").replace("\ud800", "")
    assert body["inputs"]["a"]["text"].replace("\ufffd", "") == expected
    assert str(body["inputs"]["a"]["number"]).startswith("1")
    assert body["workflow_id"] == workflow_id
