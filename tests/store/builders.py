"""Runs, settlements and histories for the tests of the store, with only what matters spelled out."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from corral.domain.ids import JobId, Owner, RunId
from corral.domain.jobs.job import Job, Priority, Strategy
from corral.domain.runs.event import EventDraft, EventKind, fold
from corral.domain.runs.loss import Blame, Loss
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.retry import Transition
from corral.domain.runs.run import Lease, NewRun, RunAction
from corral.domain.runs.settlement import Settlement
from corral.runtime.new_ids import new_id
from corral.store.store import Store

ME = Owner("me")
OTHER = Owner("other")
CREATED = (EventDraft(EventKind.CREATED),)
NETWORK_FAILURE = Failed(FailureCode.NETWORK, "connection refused", detail="connect", stats={"tries": 1})


def a_run(job_id: str | None = None, *, priority: Priority = Priority.MEDIUM, **changed: Any) -> NewRun:
    plain = NewRun(
        id=RunId(new_id()),
        job_id=job_id,
        kind="page",
        priority=priority,
        max_attempts=3,
        requested_strategy=Strategy.AUTO,
        resolved_strategy=Strategy.HTTP,
        payload=Payload({"url": "http://example.test/"}),
    )
    if isinstance(changed.get("payload"), dict):
        changed["payload"] = Payload(changed["payload"])
    return plain._replace(**changed)


def a_job(**changed: Any) -> Job:
    plain = Job(
        id=JobId(new_id()),
        target_url="http://example.test/",
        fields=(),
        created_at=datetime.now(UTC),
    )
    return replace(plain, **changed)


async def add(store: Store, run: NewRun | None = None) -> str:
    run = run or a_run()
    await store.runs.add([(run, CREATED)])
    return run.id


async def add_many(store: Store, runs: Sequence[NewRun]) -> list[str]:
    ids, _ = await store.runs.add([(run, CREATED) for run in runs])
    return ids


async def claim(store: Store, owner: Owner = ME, lease_s: float = 10) -> Lease:
    [lease] = await store.runs.claim(owner, 1, lease_s)
    return lease


async def claim_new(store: Store, owner: Owner = ME, lease_s: float = 10) -> Lease:
    [lease] = await store.runs.claim_one(await add(store), owner, lease_s)
    return lease


async def settle(store: Store, one: Settlement) -> bool:
    [is_written] = await store.runs.settle_all([one])
    return is_written


def complete(lease: Lease, records: Sequence[dict[str, Any]] = ()) -> Settlement:
    return settlement(lease, RunAction.COMPLETE, EventKind.COMPLETED, records=tuple(records), stats={"n": 1})


def partial(lease: Lease, records: Sequence[dict[str, Any]] = ()) -> Settlement:
    failure = Failed(FailureCode.EXTRACTION, "not found: price", detail="fields_missing")
    return settlement(lease, RunAction.COMPLETE_PARTLY, EventKind.PARTIAL, failure=failure, records=tuple(records))


def fail(lease: Lease, failure: Failed = NETWORK_FAILURE) -> Settlement:
    return settlement(lease, RunAction.FAIL, EventKind.FAILED, failure=failure)


def hold(lease: Lease) -> Settlement:
    return settlement(lease, RunAction.HOLD, EventKind.WAITING)


def retry(lease: Lease, due_in_s: float = 0, strategy: Strategy | None = None) -> Settlement:
    return settlement(
        lease,
        RunAction.RETRY,
        EventKind.RETRY_SCHEDULED,
        due_in_s=due_in_s,
        strategy=strategy,
        failure=NETWORK_FAILURE,
    )


def settlement(lease: Lease, action: RunAction, kind: EventKind, **more: Any) -> Settlement:
    return Settlement(
        lease, Transition(action=action, events=(EventDraft(kind),), **more), {"attempt": lease.run.attempt}
    )


def lose(lease: Lease, blame: Blame = Blame.CERTAIN, stderr_tail: str = "") -> Loss:
    return Loss(lease, blame, "killed by SIGSEGV", stderr_tail)


async def history(store: Store, run_id: str) -> list[EventKind]:
    return [event.kind for event in await store.events.of_run(run_id, 0, 1000)]


async def check_history(store: Store, run_id: str) -> None:
    """The events of a run have no gap and lead to its state."""
    events = await store.events.of_run(run_id, 0, 1000)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert fold(event.kind for event in events) is (await store.runs.get(run_id)).state
