"""Any sequence of what workers and people do, against a model a page long."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from corral.domain.errors import WrongState
from corral.domain.runs.event import EventKind, fold
from corral.domain.runs.loss import Blame
from corral.domain.runs.run import Lease, RunAction, RunState, advance, sources, spoken
from corral.domain.runs.settlement import Settlement
from corral.store.open import open_store
from tests.chaos.level import by_level
from tests.services.sqlite import migrate
from tests.store import builders
from tests.store.builders import ME, OTHER

SETTLEMENTS: dict[RunAction, Callable[[Lease], Settlement]] = {
    RunAction.COMPLETE: builders.complete,
    RunAction.COMPLETE_PARTLY: builders.partial,
    RunAction.FAIL: builders.fail,
    RunAction.RETRY: builders.retry,
    RunAction.HOLD: builders.hold,
}


class Histories(RuleBasedStateMachine):
    leases: Bundle[Lease] = Bundle("leases")

    @initialize()
    def open(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.store = open_store(f"sqlite:///{migrate(Path(self.folder.name) / 'corral.db')}")
        self.states: dict[str, RunState] = {}
        self.holders: dict[str, Lease] = {}  # who may write to a run
        self.records: dict[str, int] = {}
        self.refused: dict[str, int] = {}
        self.losses: dict[str, int] = {}

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.wait(self.store.close())
            self.loop.close()
            self.folder.cleanup()

    def wait(self, awaitable: Any) -> Any:
        return self.loop.run_until_complete(awaitable)

    @rule()
    def submit(self) -> None:
        run_id = self.wait(builders.add(self.store))
        self.states[run_id] = RunState.QUEUED
        self.records[run_id] = self.refused[run_id] = self.losses[run_id] = 0

    @rule(target=leases, owner=st.sampled_from([ME, OTHER]), lease_s=st.sampled_from([60, -1]))
    def claim(self, owner: Any, lease_s: float) -> Any:
        queued = [run_id for run_id, state in self.states.items() if state is RunState.QUEUED]
        if not queued:
            assert self.wait(self.store.runs.claim(owner, 1, lease_s)) == []
            return _no_lease()
        run = self.wait(self.store.runs.get(queued[0]))
        found = self.wait(self.store.runs.claim_one(run.id, owner, lease_s))
        if not found:
            assert run.interruptions > 10, "it waits a moment"
            return _no_lease()
        [lease] = found
        self.states[lease.run_id] = RunState.RUNNING
        self.holders[lease.run_id] = lease
        return lease

    def is_held(self, lease: Lease) -> bool:
        return self.holders.get(lease.run_id) is lease

    @rule(lease=leases, move=st.sampled_from(sorted(SETTLEMENTS)), records=st.integers(0, 2))
    def settle(self, lease: Lease, move: RunAction, records: int) -> None:
        settlement = SETTLEMENTS[move](lease)
        if move is RunAction.RETRY and lease.run.attempt == lease.run.max_attempts:
            return
        if move is RunAction.COMPLETE:
            settlement = builders.complete(lease, [{"n": 1}] * records)
        run = self.wait(self.store.runs.get(lease.run_id))
        is_repeat = (run.state, run.epoch, run.owner) == (settlement.transition.to, lease.epoch, lease.owner)
        settled = self.wait(builders.settle(self.store, settlement))
        assert settled == (self.is_held(lease) or is_repeat)
        if self.is_held(lease):
            self.states[lease.run_id] = advance(RunState.RUNNING, move)
            self.records[lease.run_id] += len(settlement.transition.records)
            del self.holders[lease.run_id]
        elif not settled:
            self.refused[lease.run_id] += 1

    @rule(lease=consumes(leases))
    def release(self, lease: Lease) -> None:
        assert self.wait(self.store.runs.release([lease], "test")) == self.is_held(lease)
        if self.is_held(lease):
            self.states[lease.run_id] = RunState.QUEUED
            del self.holders[lease.run_id]

    @rule(lease=leases, blame=st.sampled_from(Blame))
    def lose(self, lease: Lease, blame: Blame) -> None:
        assert self.wait(self.store.runs.lose([builders.lose(lease, blame)])) == self.is_held(lease)
        if self.is_held(lease):
            self._note_loss(lease, blame)

    def _note_loss(self, lease: Lease, blame: Blame) -> None:
        self.losses[lease.run_id] += blame is Blame.CERTAIN
        is_over = blame is Blame.CERTAIN and self.losses[lease.run_id] >= 3
        self.states[lease.run_id] = RunState.HELD if is_over else RunState.QUEUED
        del self.holders[lease.run_id]

    @rule()
    def reap(self) -> None:
        late = self._list_expired()
        assert self.wait(self.store.runs.reap()) == len(late)
        for lease in late:
            self._note_loss(lease, Blame.NONE)

    def _list_expired(self) -> list[Lease]:
        rows = self.store._db.connection.execute(  # type: ignore[attr-defined]
            "SELECT id FROM runs WHERE state = 'running' AND lease_until < ?",
            (self.store._db._tx(None).now_ms,),  # type: ignore[attr-defined]
        ).fetchall()
        return [self.holders[row[0]] for row in rows]

    @rule(move=st.sampled_from([RunAction.CANCEL, RunAction.PAUSE, RunAction.RESUME]), number=st.integers(0, 5))
    def person(self, move: RunAction, number: int) -> None:
        if not self.states:
            return
        run_id = list(self.states)[number % len(self.states)]
        state = self.states[run_id]
        if state not in sources(move):
            held_for = self.wait(self.store.runs.get(run_id)).hold_reason
            with pytest.raises(WrongState, match=spoken(state, held_for)) as found:
                self.wait(self.store.runs.apply_action(run_id, move))
            assert found.value.code == ("already_terminal" if state.is_terminal else "wrong_state")
            return
        expected = advance(state, move)
        assert self.wait(self.store.runs.apply_action(run_id, move)).state is expected
        self.states[run_id] = expected
        self.holders.pop(run_id, None)
        if move is RunAction.RESUME:
            self.losses[run_id] = 0

    @invariant()
    def everything_agrees(self) -> None:
        for run_id, state in getattr(self, "states", {}).items():
            run = self.wait(self.store.runs.get(run_id))
            events = self.wait(self.store.events.of_run(run_id, 0, 1000))
            kinds = [event.kind for event in events]
            assert run.state is state is fold(kinds)
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            assert kinds.count(EventKind.STALE_WRITE_REFUSED) == self.refused[run_id]
            assert len(self.wait(self.store.records.of_run(run_id, "", 100))) == self.records[run_id]
            assert run.losses == self.losses[run_id]
            assert run.attempt <= run.max_attempts


def _no_lease() -> Any:
    from hypothesis.stateful import multiple

    return multiple()


Histories.TestCase.settings = settings(max_examples=by_level(15, 300), stateful_step_count=40, deadline=None)
TestHistories = Histories.TestCase
