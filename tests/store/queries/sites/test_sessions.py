import asyncio
from typing import Any

import pytest

from corral.domain.errors import (
    IdempotencyKeyReuse,
    InterventionClosed,
    InterventionNotFound,
    JobNotFound,
    SessionChanged,
    SessionNotFound,
)
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.intervention import InterventionStatus
from corral.domain.runs.retention import Retention
from corral.domain.runs.run import HoldReason, Lease, RunAction, RunState
from corral.domain.sites.session import CheckResult, NewSession, SealedSession, SessionState, parse_session
from corral.runtime.new_ids import new_id
from corral.secrets.vault import Keyring, SealBroken
from corral.store.store import Store
from tests.store.builders import ME, a_job, a_run, check_history, complete, history, settle
from tests.store.conftest import Sql
from tests.store.queries.sites.sessions_helpers import hold_for_login

RING = Keyring().with_new()


def a_state(value: str = "the-canary-value") -> SessionState:
    return parse_session("http://example.test/", [{"name": "sid", "value": value}])


def seal(job_id: str, session_id: str | None = None, version: int = 1, value: str = "the-canary-value") -> NewSession:
    state = a_state(value)
    made = RING.seal(state, job_id=job_id, session_id=session_id or new_id(), version=version)
    return NewSession(made, "default", state.about())


async def a_stored_job(store: Store) -> str:
    job = a_job(requires_auth=True)
    await store.jobs.add(job, None)
    return job.id


async def claim(store: Store, job_id: str) -> Lease:
    run = a_run(job_id, payload={"url": "http://example.test/", "requires_auth": True})
    await store.runs.add([(run, [EventDraft(EventKind.CREATED)])])
    [lease] = await store.runs.claim_one(run.id, ME, 10)
    return lease


async def test_a_session_is_stored_sealed_and_told_about(store: Store, sql: Sql) -> None:
    job_id = await a_stored_job(store)
    session_id, replayed = await store.sessions.put(seal(job_id))
    assert not replayed
    info = await store.sessions.get(session_id)
    assert (info.job_id, info.name, info.version, info.check) == (job_id, "default", 1, CheckResult.UNCHECKED)
    assert info.about["cookies"] == 1
    assert [each.id for each in await store.sessions.newest(None, None, 10)] == [session_id]
    assert [each.id for each in await store.sessions.newest(job_id, None, 10)] == [session_id]
    assert await store.sessions.newest(new_id(), None, 10) == []
    assert "the-canary-value" not in str(sql("SELECT * FROM sessions"))
    assert RING.open(await store.sessions.get_sealed(session_id)) == a_state()


async def test_a_run_that_needs_one_is_claimed_with_the_newest_session(store: Store) -> None:
    job_id = await a_stored_job(store)
    assert (await claim(store, job_id)).session is None
    await store.sessions.put(seal(job_id))
    other = seal(job_id, value="newer")
    await asyncio.sleep(0.005)
    await store.sessions.put(NewSession(other.sealed, "other", other.about))
    found = (await claim(store, job_id)).session
    assert found is not None
    assert RING.open(found) == a_state("newer")
    plain = a_run(job_id)
    await store.runs.add([(plain, [EventDraft(EventKind.CREATED)])])
    [lease] = await store.runs.claim_one(plain.id, ME, 10)
    assert lease.session is None


async def test_a_new_content_is_the_next_version(store: Store) -> None:
    job_id = await a_stored_job(store)
    session_id, _ = await store.sessions.put(seal(job_id))
    await store.sessions.note_check(session_id, 1, CheckResult.DEAD)
    assert (await store.sessions.get(session_id)).check is CheckResult.DEAD
    assert await store.sessions.find(job_id, "default") == (session_id, 1)
    await store.sessions.put(seal(job_id, session_id, 2, "second"))
    info = await store.sessions.get(session_id)
    assert (info.version, info.check) == (2, CheckResult.UNCHECKED)
    assert RING.open(await store.sessions.get_sealed(session_id)) == a_state("second")


async def test_who_comes_second_with_a_version_writes_nothing(store: Store) -> None:
    job_id = await a_stored_job(store)
    session_id, _ = await store.sessions.put(seal(job_id))
    with pytest.raises(SessionChanged):
        await store.sessions.put(seal(job_id))
    await store.sessions.put(seal(job_id, session_id, 2, "second"))
    with pytest.raises(SessionChanged):
        await store.sessions.put(seal(job_id, session_id, 2, "late"))
    assert RING.open(await store.sessions.get_sealed(session_id)) == a_state("second")


async def test_of_many_who_write_at_once_one_wins_each_version(store: Store) -> None:
    job_id = await a_stored_job(store)
    tries = [store.sessions.put(seal(job_id)) for _ in range(10)]
    ended = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(each, tuple) for each in ended) == 1
    assert {type(each) for each in ended if not isinstance(each, tuple)} == {SessionChanged}


async def test_a_repeated_request_writes_once(store: Store) -> None:
    job_id = await a_stored_job(store)
    key = IdempotencyKey("k", "fingerprint")
    session_id, _ = await store.sessions.put(seal(job_id), key)
    assert await store.sessions.put(seal(job_id, session_id, 2, "again"), key) == (session_id, True)
    assert (await store.sessions.get(session_id)).version == 1
    with pytest.raises(IdempotencyKeyReuse):
        await store.sessions.put(seal(job_id, session_id, 2), IdempotencyKey("k", "another"))


async def test_a_session_needs_its_job(store: Store) -> None:
    with pytest.raises(JobNotFound):
        await store.sessions.put(seal(new_id()))
    for ask in (store.sessions.get, store.sessions.get_sealed, store.sessions.delete):
        with pytest.raises(SessionNotFound):
            await ask(new_id())


# -- rows that were tampered with ----------------------------------------------------------------------


async def test_a_row_put_back_to_an_older_version_does_not_open(store: Store, sql: Sql) -> None:
    job_id = await a_stored_job(store)
    session_id, _ = await store.sessions.put(seal(job_id, value="first"))
    [old] = sql("SELECT version, kid, wrapped_key, box FROM sessions")
    await store.sessions.put(seal(job_id, session_id, 2, "second"))
    sql(f"UPDATE sessions SET version = {old[0]}, kid = '{old[1]}', wrapped_key = '{old[2]}', box = '{old[3]}'")
    with pytest.raises(SealBroken):
        RING.open(await store.sessions.get_sealed(session_id))


async def test_contents_swapped_between_jobs_do_not_open(store: Store, sql: Sql) -> None:
    one, other = await a_stored_job(store), await a_stored_job(store)
    ids = [(await store.sessions.put(seal(job_id)))[0] for job_id in (one, other)]
    sql(f"UPDATE sessions SET job_id = 'x' WHERE id = '{ids[0]}'")
    sql(f"UPDATE sessions SET job_id = '{one}' WHERE id = '{ids[1]}'")
    found = (await claim(store, one)).session
    assert found is not None
    with pytest.raises(SealBroken):
        RING.open(found)


async def test_a_deleted_session_that_is_put_back_does_not_open(store: Store, sql: Sql) -> None:
    job_id = await a_stored_job(store)
    new = seal(job_id)
    session_id, _ = await store.sessions.put(new)
    await store.sessions.delete(session_id)
    cell = new.sealed
    sql(
        "INSERT INTO sessions (id, job_id, name, version, kid, wrapped_key, box, about, created_at, updated_at) VALUES"
        f" ('{cell.id}', '{job_id}', 'default', 1, '{cell.kid}', '{cell.wrapped_key}', '{cell.box}', '{{}}', 1, 1)"
    )
    with pytest.raises(SealBroken):
        RING.open(await store.sessions.get_sealed(session_id))


# -- rotation ------------------------------------------------------------------------------------------


async def test_sessions_are_rewrapped_unless_they_changed_meanwhile(store: Store) -> None:
    ids = []
    for _ in range(3):
        job_id = await a_stored_job(store)
        ids.append((await store.sessions.put(seal(job_id)))[0])
    both = RING.with_new()
    found = await store.sessions.list_under_other_keys(both.kids[0], "", 10)
    assert [each.id for each in found] == sorted(ids)
    await store.sessions.put(seal(found[0].job_id, found[0].id, 2, "changed"))
    done = [await store.sessions.rewrap(both.rewrap(each), each.kid) for each in found]
    assert done == [False, True, True]
    assert await store.sessions.count_keys() == {RING.kids[0]: 1, both.kids[0]: 2}
    assert both.without(RING.kids).open(await store.sessions.get_sealed(ids[1])) == a_state()
    assert RING.open(await store.sessions.get_sealed(found[0].id)) == a_state("changed")


async def test_a_deleted_job_takes_its_sessions_along(store: Store, sql: Sql) -> None:
    job_id = await a_stored_job(store)
    session_id, _ = await store.sessions.put(seal(job_id))
    await store.jobs.delete(job_id)
    assert await store.sessions.newest(None, None, 10) == []
    assert sql(f"SELECT key FROM corral_meta WHERE key = 'session:{session_id}'") == []
    assert await store.sessions.count_keys() == {}


# -- interventions -------------------------------------------------------------------------------------


async def hold_run(store: Store) -> tuple[str, str, str]:
    """Job, run and intervention."""
    job_id = await a_stored_job(store)
    lease = await claim(store, job_id)
    assert await settle(store, hold_for_login(lease))
    found = [each for each in await store.interventions.newest(None, None, 10) if each.run_id == lease.run_id]
    return job_id, lease.run_id, found[0].id


async def test_a_hold_opens_an_intervention_and_resolving_resumes_the_run(store: Store) -> None:
    job_id, run_id, intervention_id = await hold_run(store)
    run = await store.runs.get(run_id)
    assert (run.state, run.hold_reason, run.attempt) == (RunState.HELD, HoldReason.WAITING_FOR_HUMAN, 1)
    [open_one] = await store.interventions.newest(InterventionStatus.OPEN, None, 10)
    assert (open_one.id, open_one.job_id, open_one.reason) == (intervention_id, job_id, "log in")
    closed, resumed = await store.interventions.resolve(intervention_id, seal(job_id))
    assert closed.status is InterventionStatus.RESOLVED
    assert closed.resolved_at is not None
    assert (resumed.state, resumed.attempt, resumed.hold_reason) == (RunState.QUEUED, 1, None)
    assert await store.interventions.newest(InterventionStatus.OPEN, None, 10) == []
    assert (await history(store, run_id))[-2:] == [EventKind.WAITING, EventKind.RESUMED]
    await check_history(store, run_id)
    [lease] = await store.runs.claim_one(run_id, ME, 10)
    assert lease.session is not None
    assert await settle(store, complete(lease))
    await check_history(store, run_id)


async def test_an_intervention_is_resolved_once_and_then_nothing_is_written(store: Store) -> None:
    job_id, run_id, intervention_id = await hold_run(store)
    await store.interventions.resolve(intervention_id)
    with pytest.raises(InterventionClosed, match="it is resolved"):
        await store.interventions.resolve(intervention_id, seal(job_id))
    assert await store.sessions.newest(None, None, 10) == []
    assert (await history(store, run_id)).count(EventKind.RESUMED) == 1
    with pytest.raises(InterventionNotFound):
        await store.interventions.resolve(new_id())
    with pytest.raises(InterventionNotFound):
        await store.interventions.get(new_id())


async def test_a_session_that_came_too_late_leaves_the_intervention_open(store: Store) -> None:
    job_id, _, intervention_id = await hold_run(store)
    await store.sessions.put(seal(job_id))
    with pytest.raises(SessionChanged):
        await store.interventions.resolve(intervention_id, seal(job_id))
    assert (await store.interventions.get(intervention_id)).status is InterventionStatus.OPEN


@pytest.mark.parametrize(
    "move, status", [(RunAction.RESUME, InterventionStatus.RESOLVED), (RunAction.CANCEL, InterventionStatus.CANCELLED)]
)
async def test_moving_the_run_itself_closes_its_intervention(
    store: Store, move: RunAction, status: InterventionStatus
) -> None:
    _, run_id, intervention_id = await hold_run(store)
    await store.runs.apply_action(run_id, move)
    assert (await store.interventions.get(intervention_id)).status is status
    with pytest.raises(InterventionClosed):
        await store.interventions.resolve(intervention_id)


async def test_interventions_are_forgotten_with_their_runs(store: Store) -> None:
    _, run_id, _ = await hold_run(store)
    await store.runs.apply_action(run_id, RunAction.CANCEL)
    await store.maintenance.prune(Retention(max_finished_runs=0))
    assert await store.interventions.newest(None, None, 10) == []


def test_what_is_stored_of_a_session_has_no_place_for_its_values() -> None:
    cell: dict[str, Any] = {name: getattr(seal("j").sealed, name) for name in SealedSession.__slots__}
    assert "the-canary-value" not in str(cell)
