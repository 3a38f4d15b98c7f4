"""The rules of workflows over both databases: a child run settles, and the store does the rest in its transaction."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from corral.domain.errors import BadInput, RunNotFound, WorkflowNotFound, WrongState
from corral.domain.runs.event import EventKind, fold
from corral.domain.runs.loss import Blame, Loss
from corral.domain.runs.outcome import Failed, FailureCode, Fetched
from corral.domain.runs.retention import Retention
from corral.domain.runs.retry import RetryPolicy
from corral.domain.runs.run import RunAction, RunState
from corral.engine.worker.attempt import settlement_of
from corral.store.store import Store
from tests.domain.workflows.builders import a_definition, a_diamond, a_step
from tests.store.builders import ME
from tests.store.queries.workflows.builders import BROKEN, claim_all, create, settle, states, step_of


async def test_steps_start_when_what_they_depend_on_has_completed(store: Store) -> None:
    workflow_id = await create(store, a_diamond())
    order = []
    while ready := await claim_all(store):
        order.append(sorted(ready))
        for lease in ready.values():
            assert await settle(store, lease)
    assert order == [["a"], ["b", "c"], ["d", "e"], ["f"]]
    now = await store.workflows.get(workflow_id)
    assert (now.run.state, now.progress, now.status) == (RunState.COMPLETED, 100, "completed")
    assert (await store.runs.count_live())["running"] == 0


async def test_two_branches_that_end_in_one_transaction_start_the_join_once(store: Store) -> None:
    await create(store, a_diamond())
    await settle(store, (await claim_all(store))["a"])
    for pair in (("b", "c"), ("d", "e")):
        ready = await claim_all(store)
        done = [settlement_of(ready[key], Fetched(), RetryPolicy(), now=datetime.now(UTC), took_s=0.1) for key in pair]
        assert await store.runs.settle_all(done) == [True, True]
        assert await store.runs.settle_all(done) == [True, True], "a repeated settlement is recognized"
    assert sorted(await claim_all(store)) == ["f"]


async def test_two_branches_that_end_at_the_same_time_start_the_join_once(store: Store) -> None:
    await create(
        store, a_definition(*(a_step(f"s{n}") for n in range(8)), a_step("join", *(f"s{n}" for n in range(8))))
    )
    ready = await claim_all(store)
    assert all(await asyncio.gather(*(settle(store, lease) for lease in ready.values())))
    assert sorted(await claim_all(store)) == ["join"]


async def test_what_depends_on_a_failed_step_is_skipped_and_recovered_with_it(store: Store) -> None:
    workflow_id = await create(store, a_diamond())
    await settle(store, (await claim_all(store))["a"])
    ready = await claim_all(store)
    await settle(store, ready["b"], BROKEN)
    await settle(store, ready["c"])
    await settle(store, (await claim_all(store))["e"])
    now = await store.workflows.get(workflow_id)
    assert states(now) == {
        "a": "completed",
        "b": "failed",
        "c": "completed",
        "d": "skipped",
        "e": "completed",
        "f": "skipped",
    }
    assert (now.status, now.is_recoverable, now.progress) == ("failed", True, 50)
    assert "broken on purpose" in str(now.run.error_message)

    new_run = await store.workflows.recover(workflow_id)
    now = await store.workflows.get(workflow_id)
    assert (now.run.id, now.status, now.recoveries) == (new_run, "recovering", 1)
    again = []
    while ready := await claim_all(store):
        again += sorted(ready)
        for lease in ready.values():
            await settle(store, lease)
    assert again == ["b", "d", "f"], "what had completed is not executed again"
    assert (await store.workflows.get(workflow_id)).status == "completed"
    assert (await store.runs.get(workflow_id)).state is RunState.FAILED, "the first run stays as it ended"


async def test_of_two_recoverers_one_wins(store: Store) -> None:
    workflow_id = await create(store, a_definition(a_step("a")))
    await settle(store, (await claim_all(store))["a"], BROKEN)
    results = await asyncio.gather(*(store.workflows.recover(workflow_id) for _ in range(5)), return_exceptions=True)
    assert [type(each) for each in results].count(WrongState) == 4
    assert list(await claim_all(store)) == ["a"]


async def test_recovery_is_bounded_and_names_what_is_wrong(store: Store) -> None:
    workflow_id = await create(store, a_definition(a_step("a"), a_step("b", "a"), max_recovery_attempts=1))
    with pytest.raises(WrongState, match="the run is running"):
        await store.workflows.recover(workflow_id)
    await settle(store, (await claim_all(store))["a"], BROKEN)
    with pytest.raises(BadInput, match="recover from there"):
        await store.workflows.recover(workflow_id, "b")
    with pytest.raises(BadInput, match="there is no step 'x'"):
        await store.workflows.recover(workflow_id, "x")
    await store.workflows.recover(workflow_id, "a")
    await settle(store, (await claim_all(store))["a"], BROKEN)
    with pytest.raises(WrongState, match="all 1 recovery attempts are used"):
        await store.workflows.recover(workflow_id)


async def test_outputs_flow_to_the_steps_that_depend_on_them(store: Store) -> None:
    document = a_definition(
        a_step("first"),
        {
            "key": "second",
            "kind": "webhook",
            "depends_on": ["first"],
            "config": {"url": "http://${steps.first.output.host}/", "body": "${steps.first.output.urls}"},
        },
    )
    workflow_id = await create(store, document)
    await settle(store, (await claim_all(store))["first"], Fetched(records=({"host": "x.test", "urls": ["u", "v"]},)))
    second = (await claim_all(store))["second"]
    document = second.run.payload.document()
    assert (document["url"], document["body"]) == ("http://x.test/", ["u", "v"])
    await settle(store, second, Fetched(records=({"status": 204},)))
    assert (await store.workflows.get(workflow_id)).steps[1].output == {"status": 204}


async def test_a_reference_that_leads_to_nothing_fails_its_step(store: Store) -> None:
    step = a_step("b", "a", config={"do": "${steps.a.output.missing}"})
    workflow_id = await create(store, a_definition(a_step("a"), step, a_step("c", "b")))
    await settle(store, (await claim_all(store))["a"])
    now = await store.workflows.get(workflow_id)
    assert states(now) == {"a": "completed", "b": "failed", "c": "skipped"}
    assert "leads to nothing" in str(now.steps[1].now.reason)
    assert (now.status, now.run.failure_code) == ("failed", "policy")


async def test_a_condition_skips_its_step_and_nothing_else(store: Store) -> None:
    fill = a_step("fill", "look", when="${steps.look.output.count} > 0")
    workflow_id = await create(store, a_definition(a_step("look"), fill, a_step("report", "fill")))
    await settle(store, (await claim_all(store))["look"], Fetched(records=({"count": 0},)))
    ready = await claim_all(store)
    assert list(ready) == ["report"]
    await settle(store, ready["report"])
    now = await store.workflows.get(workflow_id)
    assert (states(now)["fill"], now.status, now.progress) == ("skipped", "completed", 100)


async def test_a_fan_out_starts_one_child_per_item_and_gathers_their_outputs(store: Store) -> None:
    each = a_step("each", "list", for_each="${steps.list.output.urls}", config={"do": "${item}"})
    workflow_id = await create(store, a_definition(a_step("list"), each, a_step("join", "each")))
    await settle(store, (await claim_all(store))["list"], Fetched(records=({"urls": ["x", "y", "z"]},)))
    ready = await claim_all(store)
    assert sorted(ready) == ["each[0]", "each[1]", "each[2]"]
    assert [ready[f"each[{n}]"].run.payload.document()["do"] for n in range(3)] == ["x", "y", "z"]
    for number in (2, 0):
        await settle(store, ready[f"each[{number}]"], Fetched(records=({"n": number},)))
        assert "join" not in await claim_all(store)
    halfway = (await store.workflows.get(workflow_id)).progress
    await settle(store, ready["each[1]"], Fetched(records=({"n": 1},)))
    now = await store.workflows.get(workflow_id)
    assert [item["n"] for item in now.steps[1].output["items"]] == [0, 1, 2]
    assert 33 < halfway < now.progress == 66
    assert list(await claim_all(store)) == ["join"]


async def test_only_the_failed_items_of_a_fan_out_are_recovered(store: Store) -> None:
    each = a_step("each", "list", for_each="${steps.list.output.urls}")
    workflow_id = await create(store, a_definition(a_step("list"), each))
    await settle(store, (await claim_all(store))["list"], Fetched(records=({"urls": [1, 2, 3]},)))
    for key, lease in (await claim_all(store)).items():
        await settle(store, lease, BROKEN if key == "each[1]" else None)
    now = await store.workflows.get(workflow_id)
    assert now.status == "failed"
    assert "1 of 3 items failed" in str(now.steps[1].now.reason)
    await store.workflows.recover(workflow_id)
    again = await claim_all(store)
    assert list(again) == ["each[1]"]
    await settle(store, again["each[1]"])
    now = await store.workflows.get(workflow_id)
    assert now.status == "completed"
    assert now.steps[1].output["completed"] == 3


async def test_a_fan_out_over_nothing_completes_and_one_with_allowed_failures_is_partial(store: Store) -> None:
    empty = a_step("empty", "list", for_each="${steps.list.output.none}")
    some = a_step("some", "list", for_each="${steps.list.output.urls}", allow_failures=True)
    workflow_id = await create(store, a_definition(a_step("list"), empty, some, a_step("end", "empty", "some")))
    await settle(store, (await claim_all(store))["list"], Fetched(records=({"urls": [1, 2], "none": []},)))
    for key, lease in (await claim_all(store)).items():
        await settle(store, lease, BROKEN if key == "some[0]" else None)
    await settle(store, (await claim_all(store))["end"])
    now = await store.workflows.get(workflow_id)
    assert states(now) == {"list": "completed", "empty": "completed", "some": "partial", "end": "completed"}
    assert (now.run.state, now.is_partial, now.status) == (RunState.PARTIAL, True, "completed")
    assert "step some is partial: 1 of 2 items failed" in str(now.run.error_message)


async def test_a_pause_lets_running_steps_finish_and_starts_none(store: Store) -> None:
    workflow_id = await create(store, a_diamond())
    await settle(store, (await claim_all(store))["a"])
    [running] = await store.runs.claim(ME, 1, 10)
    await store.runs.apply_action(workflow_id, RunAction.PAUSE)
    assert (await store.workflows.get(workflow_id)).status == "paused"
    assert await claim_all(store) == {}, "the other branch was queued, and waits"
    assert await settle(store, running)
    assert await claim_all(store) == {}
    await store.runs.apply_action(workflow_id, RunAction.RESUME)
    assert len(await claim_all(store)) == 2
    assert (await store.workflows.get(workflow_id)).status == "running"


async def test_a_retry_does_not_start_while_the_workflow_is_paused(store: Store) -> None:
    workflow_id = await create(store, a_definition(a_step("a")))
    lease = (await claim_all(store))["a"]
    await store.runs.apply_action(workflow_id, RunAction.PAUSE)
    await settle(store, lease, Failed(FailureCode.NETWORK, "no answer"))
    assert (await store.runs.get(lease.run_id)).state is RunState.HELD
    await store.runs.apply_action(workflow_id, RunAction.RESUME)
    run = await store.runs.get(lease.run_id)
    assert (run.state, run.attempt) == (RunState.QUEUED, 2)


async def test_a_run_that_was_taken_back_does_not_start_while_the_workflow_is_paused(store: Store) -> None:
    workflow_id = await create(store, a_definition(a_step("a"), a_step("b"), a_step("c")))
    ready = await claim_all(store)
    await store.runs.apply_action(workflow_id, RunAction.PAUSE)
    assert await store.runs.release([ready["a"]], "shutdown") == 1
    assert await store.runs.lose([Loss(ready["b"], Blame.NONE, "killed")]) == 1
    assert await store.runs.expire(ME) == 1
    assert await store.runs.reap() == 1, "the lease of c has run out"
    assert await claim_all(store) == {}
    await store.runs.apply_action(workflow_id, RunAction.RESUME)
    assert sorted(await claim_all(store)) == ["a", "b", "c"]


async def test_retries_wait_one_two_four_seconds(store: Store, sql: Any) -> None:
    workflow_id = await create(store, a_definition(a_step("a", max_retries=3)))
    waits = []
    for _ in range(3):
        sql("UPDATE runs SET due_at = 0 WHERE state = 'queued'")
        lease = (await claim_all(store))["a"]
        await settle(store, lease, Failed(FailureCode.NETWORK, "no answer"))
        history = await store.events.of_run(lease.run_id, 0, 50)
        waits.append(history[-1].meta["delay_s"])
    assert waits == [1.0, 2.0, 4.0]
    step = (await store.workflows.get(workflow_id)).steps[0]
    assert (step.status, step.retry_count) == ("retrying", 3)
    sql("UPDATE runs SET due_at = 0 WHERE state = 'queued'")
    await settle(store, (await claim_all(store))["a"], Failed(FailureCode.NETWORK, "no answer"))
    assert (await store.workflows.get(workflow_id)).status == "failed"


async def test_a_cancel_ends_every_open_step_and_its_runs(store: Store) -> None:
    workflow_id = await create(store, a_diamond())
    await settle(store, (await claim_all(store))["a"])
    ready = await claim_all(store)
    await store.runs.apply_action(workflow_id, RunAction.CANCEL)
    assert not await settle(store, ready["b"]), "the lease was lost with the cancel"
    now = await store.workflows.get(workflow_id)
    assert now.status == "cancelled"
    assert set(states(now).values()) == {"completed", "cancelled"}
    assert (await store.runs.get(ready["c"].run_id)).state is RunState.CANCELLED
    with pytest.raises(WrongState):
        await store.workflows.recover(workflow_id)


async def test_a_cancelled_child_fails_the_workflow(store: Store) -> None:
    workflow_id = await create(store, a_definition(a_step("a"), a_step("b", "a")))
    lease = (await claim_all(store))["a"]
    await store.runs.apply_action(lease.run_id, RunAction.CANCEL)
    now = await store.workflows.get(workflow_id)
    assert (states(now), now.status) == ({"a": "cancelled", "b": "skipped"}, "failed")


async def test_a_workflow_that_was_not_started_waits(store: Store) -> None:
    workflow_id = await create(store, a_definition(a_step("a")), starts=False)
    assert (await store.workflows.get(workflow_id)).status == "pending"
    assert await claim_all(store) == {}
    await store.runs.apply_action(workflow_id, RunAction.RESUME)
    assert list(await claim_all(store)) == ["a"]
    assert (await store.workflows.get(workflow_id)).status == "running"


async def test_the_same_content_keeps_its_version(store: Store) -> None:
    first = await create(store, a_definition(a_step("a")))
    same = await create(store, a_definition(a_step("a")))
    other = await create(store, a_definition(a_step("b")))
    assert [(await store.workflows.get(each)).version for each in (first, same, other)] == [1, 1, 2]


async def test_the_history_of_a_workflow_leads_to_its_state(store: Store) -> None:
    workflow_id = await create(store, a_definition(a_step("a")), starts=False)
    await store.runs.apply_action(workflow_id, RunAction.RESUME)
    await settle(store, (await claim_all(store))["a"])
    kinds = [event.kind for event in await store.events.of_run(workflow_id, 0, 50)]
    assert kinds == [EventKind.CREATED, EventKind.PAUSED, EventKind.RESUMED, EventKind.STARTED, EventKind.COMPLETED]
    assert fold(kinds) is (await store.runs.get(workflow_id)).state
    assert await store.maintenance.audit() == []


async def test_retention_deletes_a_workflow_with_its_last_run(store: Store, sql: Any) -> None:
    workflow_id = await create(store, a_definition(a_step("a")))
    await settle(store, (await claim_all(store))["a"], BROKEN)
    await store.workflows.recover(workflow_id)
    await settle(store, (await claim_all(store))["a"])
    assert (await store.workflows.get(workflow_id)).status == "completed"
    while await store.maintenance.prune(Retention(max_finished_runs=0)):
        pass
    assert sql("SELECT count(*) FROM workflow_steps") == [(0,)]
    with pytest.raises(WorkflowNotFound):
        await store.workflows.get(workflow_id)
    again = await create(store, a_definition(a_step("b")))
    assert (await store.workflows.get(again)).version == 2


async def test_retention_keeps_the_runs_of_steps_as_long_as_their_workflow(store: Store) -> None:
    workflow_id = await create(store, a_definition(a_step("a"), a_step("b", "a")))
    first = (await claim_all(store))["a"]
    await settle(store, first)
    nothing = Retention(max_age_days=0, max_finished_runs=0, max_crawl_age_hours=0, keep_records=False)
    assert await store.maintenance.prune(nothing) == 0, "the workflow goes on, and may read the records of its steps"
    assert await store.records.of_run(first.run_id, "", 10)
    await settle(store, (await claim_all(store))["b"], BROKEN)
    while await store.maintenance.prune(nothing):
        pass
    with pytest.raises(WorkflowNotFound):
        await store.workflows.get(workflow_id)
    with pytest.raises(RunNotFound):
        await store.runs.get(first.run_id)


async def test_a_workflow_is_neither_reaped_nor_claimed(store: Store, sql: Any) -> None:
    workflow_id = await create(store, a_definition(a_step("a")))
    lease = (await claim_all(store))["a"]
    sql("UPDATE runs SET lease_until = 1 WHERE state = 'running'")
    assert await store.runs.reap() == 1
    assert (await store.runs.get(workflow_id)).state is RunState.RUNNING
    assert list(await claim_all(store)) == ["a"]
    assert not await settle(store, lease), "the lease was lost"


async def test_local_steps_are_claimed_by_their_process_alone(store: Store) -> None:
    local = {"key": "here", "kind": "local", "config": {"handler": "f"}}
    workflow_id = await create(store, a_definition(a_step("there"), local))
    assert list(await claim_all(store)) == ["there"]
    [lease] = await store.workflows.claim_local(workflow_id, ME, 10, 10)
    assert await step_of(store, lease) == "here"
    assert await store.workflows.claim_local(workflow_id, ME, 10, 10) == []
