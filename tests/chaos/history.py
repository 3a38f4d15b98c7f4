"""The judge: reads a database after the storm and says which promises were broken.

It reads tables with SQL of its own, so that a bug in the store cannot hide itself.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pysqlite3

from corral.domain.runs.event import EventKind, fold
from corral.domain.runs.loss import LOSS_CAP, Blame
from corral.domain.runs.run import TERMINAL, RunState

_RUNS = "SELECT id, state, attempt, max_attempts, epoch, losses, seq, owner, lease_until FROM runs"
_EVENTS = "SELECT run_id, seq, kind, meta FROM events ORDER BY run_id, seq"
_RECORDS = "SELECT run_id, item_key FROM records"


@dataclass(frozen=True)
class RunRow:
    id: str
    state: str
    attempt: int
    max_attempts: int
    epoch: int
    losses: int
    seq: int
    owner: str | None
    lease_until: int | None


@dataclass(frozen=True)
class Step:
    seq: int
    kind: EventKind
    meta: dict[str, Any]


@dataclass(frozen=True)
class History:
    runs: dict[str, RunRow]
    steps: dict[str, list[Step]] = field(default_factory=dict)
    records: dict[str, list[str]] = field(default_factory=dict)

    def count(self, kind: EventKind) -> int:
        return sum(step.kind is kind for steps in self.steps.values() for step in steps)


def read(store_url: str) -> History:
    steps: dict[str, list[Step]] = defaultdict(list)
    records: dict[str, list[str]] = defaultdict(list)
    rows, event_rows, record_rows = (query(store_url, text) for text in (_RUNS, _EVENTS, _RECORDS))
    for run_id, seq, kind, meta in event_rows:
        steps[run_id].append(Step(seq, EventKind(kind), json.loads(meta) if isinstance(meta, str) else meta))
    for run_id, key in record_rows:
        records[run_id].append(key)
    return History({row[0]: RunRow(*row) for row in rows}, dict(steps), dict(records))


def query(url: str, text: str) -> list[tuple[Any, ...]]:
    if url.startswith("postgresql"):
        with psycopg.connect(url) as connection:
            return connection.execute(text.encode()).fetchall()
    path = Path(url.removeprefix("sqlite:///"))
    with path.open("rb"):  # it must exist: SQLite would make an empty one
        connection = pysqlite3.connect(str(path), timeout=10)
    try:
        found: list[tuple[Any, ...]] = connection.execute(text).fetchall()
    finally:
        connection.close()
    return found


def check(store_url: str, answered: Iterable[str] = (), *, drained: bool = True) -> list[str]:
    """Every broken promise, I1 to I6. `answered`: ids a client was told. `drained`: nothing is under way."""
    history = read(store_url)
    broken = [f"I1 {id_}: answered, but not there" for id_ in answered if id_ not in history.runs]
    for run in history.runs.values():
        steps = history.steps.get(run.id, [])
        problems = [
            *(_check_end(run) if drained else ()),
            *_final(steps),
            *_epochs(run, steps),
            *_results(run, steps, history.records.get(run.id, [])),
            *_check_numbers(run, steps),
            *_check_bounds(run, steps),
        ]
        broken += [f"{problem} (run {run.id})" for problem in problems]
    broken += [f"I4 {id_}: records of a run nobody knows" for id_ in history.records.keys() - history.runs.keys()]
    return broken


def _check_end(run: RunRow) -> Iterator[str]:
    # A quarantined run waits for a person.
    if RunState(run.state) not in TERMINAL and run.losses < LOSS_CAP:
        yield f"I1 it is {run.state}, not ended"


def _final(steps: Sequence[Step]) -> Iterator[str]:
    """I2: after the end only refusals are noted."""
    ends = [step.seq for step in steps if fold([step.kind]) in TERMINAL]
    if len(ends) > 1:
        yield f"I2 it ended {len(ends)} times"
    if ends and any(step.seq > ends[0] and fold([step.kind]) is not None for step in steps):
        yield "I2 it went on after its end"


def _epochs(run: RunRow, steps: Sequence[Step]) -> Iterator[str]:
    epochs = [step.meta["epoch"] for step in steps if step.kind is EventKind.STARTED]
    if epochs != list(range(1, len(epochs) + 1)):
        yield f"I3 epochs do not rise one by one: {epochs}"
    if run.epoch != len(epochs):
        yield f"I3 the row says epoch {run.epoch}, the history {len(epochs)}"
    refused = [step.meta["epoch"] for step in steps if step.kind is EventKind.STALE_WRITE_REFUSED]
    if len(refused) > len(set(refused)):
        yield f"I3 a stale write was refused more than once for an epoch: {refused}"
    if run.state == RunState.RUNNING and (run.owner is None or run.lease_until is None):
        yield "I3 it is running and nobody's"


def _results(run: RunRow, steps: Sequence[Step], keys: Sequence[str]) -> Iterator[str]:
    if len(keys) > len(set(keys)):
        yield f"I4 a result is stored twice: {sorted(keys)}"
    has_won = any(step.kind in (EventKind.COMPLETED, EventKind.PARTIAL) for step in steps)
    if keys and not has_won:
        yield f"I4 results without a win, in state {run.state}"


def _check_numbers(run: RunRow, steps: Sequence[Step]) -> Iterator[str]:
    if [step.seq for step in steps] != list(range(1, len(steps) + 1)):
        yield f"I5 gaps in the history: {[step.seq for step in steps]}"
    if run.seq != len(steps):
        yield f"I5 the row says {run.seq} events, the history has {len(steps)}"
    told = fold(step.kind for step in steps)
    if told is None or told.value != run.state:
        yield f"I5 it is {run.state}, its history says {told}"
    yield from _edges(steps)


def _edges(steps: Sequence[Step]) -> Iterator[str]:
    """I5: each event stands where the state before allows it."""
    state: RunState | None = None
    for step in steps:
        following = fold([step.kind])
        if following is None:
            continue
        if state is RunState.QUEUED and following not in (RunState.RUNNING, RunState.CANCELLED, RunState.HELD):
            yield f"I5 {step.kind} (number {step.seq}) of a queued run"
        if step.kind is EventKind.STARTED and state is not RunState.QUEUED:
            yield f"I5 started (number {step.seq}) although {state}"
        state = following


def _check_bounds(run: RunRow, steps: Sequence[Step]) -> Iterator[str]:
    if run.attempt > run.max_attempts:
        yield f"I6 attempt {run.attempt} of {run.max_attempts}"
    retries = sum(step.kind is EventKind.RETRY_SCHEDULED for step in steps)
    if run.attempt != 1 + retries:
        yield f"I6 the row says attempt {run.attempt}, the history {1 + retries}"
    losses = sum(
        step.kind in (EventKind.WORKER_LOST, EventKind.QUARANTINED) and step.meta["blame"] == Blame.CERTAIN
        for step in steps
    )
    if run.losses > LOSS_CAP:
        yield f"I6 {run.losses} workers lost"
    if run.losses != losses:
        yield f"I6 the row says {run.losses} losses, the history {losses}"
