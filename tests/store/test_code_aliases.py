"""Codes that an earlier version stored are read under their current names."""

from dataclasses import replace

import pytest

from corral.domain.runs.code_aliases import current_reason
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.run import RunAction
from corral.store.store import Store
from tests.store.builders import claim_new, settlement


@pytest.mark.parametrize(
    "former, current", [("host_waits", EventKind.HOST_DEFERRED), ("robots_cut", EventKind.ROBOTS_TRUNCATED)]
)
def test_a_former_event_kind_is_read_as_the_current_one(former: str, current: EventKind) -> None:
    assert EventKind(former) is current
    assert current.value != former, "new events carry the new name"


@pytest.mark.parametrize(
    "code, former, current",
    [(FailureCode.TIMEOUT, "gap", "read"), (FailureCode.BLOCKED, "session_dead", "session_expired")],
)
async def test_a_former_failure_detail_is_read_as_the_current_one(
    store: Store, code: FailureCode, former: str, current: str
) -> None:
    lease = await claim_new(store)
    failure = Failed(code, "as stored before", former)
    old = settlement(lease, RunAction.FAIL, EventKind.FAILED, failure=failure, stats={"robots_cut": {"read_bytes": 1}})
    meta = {"failure_code": code.value, "failure_detail": former}
    transition = replace(old.transition, events=(EventDraft(EventKind.FAILED, meta),))
    entry = {"attempt": 1, "outcome": code.value, "detail": former}
    await store.runs.settle_all([old._replace(transition=transition, attempt_entry=entry)])
    run = await store.runs.get(lease.run_id)
    assert (run.failure_detail, run.attempts[0]["detail"]) == (current, current)
    assert run.stats == {"robots_truncated": {"read_bytes": 1}}
    last = (await store.events.of_run(run.id, 0, 10))[-1]
    assert last.meta["failure_detail"] == current


def test_a_former_reason_of_a_page_is_read_as_the_current_one() -> None:
    assert current_reason("timeout:gap") == "timeout:read"
    assert current_reason("limit:gap") == "limit:gap", "the same detail beside another code stays what it is"
    assert current_reason("canonical") == "canonical"
