"""The judge of the order of claims: reads the events of a database and names the claims that passed over older runs.

The rule: no run is claimed while an older due one of its band waits for more than a second. It holds for runs of hosts
with room; the judge does not know the limits of hosts and lanes, nor the isolation place of suspects (`ignored`).
"""

import bisect
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from corral.domain.runs.event import EventKind, fold
from corral.domain.runs.run import RunState
from tests.chaos.history import query

# How long a due run may wait before no younger one may be claimed.
PATIENCE_S = 1.0
# Claims of several nodes race: each skips the rows that another one has locked. The claim of the older run was under
# way if it began before the claim of the younger one was written. When that was is known only from what other
# transactions wrote before, so this much is added.
RACE_S = 0.25

_EVENTS = """
    SELECT events.run_id, runs.priority, events.kind, events.meta, events.created_at FROM events
    JOIN runs ON runs.id = events.run_id ORDER BY events.position
"""


class QueueEvent(NamedTuple):
    """An event of a run. `delay_s`: until a requeued run is due again."""

    at: float  # when its transaction began
    run_id: str
    kind: EventKind
    delay_s: float = 0.0
    band: int = 0


@dataclass
class Wait:
    """One stay of a run in the queue, from when it could be claimed to its claim, or to when it left otherwise."""

    run_id: str
    band: int
    due: float
    since: float
    is_reclaim: bool  # it was claimed before, and has kept its position
    until: float = float("inf")
    written: float = float("inf")  # a time at which its end was not written yet; `until` or later
    is_claimed: bool = False
    overtaken_at: float = float("inf")  # when a younger run was claimed first

    @property
    def age(self) -> tuple[float, str]:
        return self.due, self.run_id

    @property
    def seconds(self) -> float:
        return self.until - self.since


@dataclass
class ClaimOrder:
    """What the judge found. `violations` breaks the rule.

    `overtaken` is a second measure, which is stricter in one way: a run that was claimed more than the patience after a
    younger one, however short it had waited when the younger one was claimed and whatever happened in between.
    """

    claims: int = 0
    violations: list[str] = field(default_factory=list)
    overtaken: list[str] = field(default_factory=list)
    # From the requeueing of a run to its claim, where it kept its position: after a backoff it is the youngest of all.
    reclaims_s: list[float] = field(default_factory=list)

    def note_claim(self, claim: Wait, older: Sequence[Wait], patience_s: float, race_s: float) -> None:
        """`older`: the runs of the same band that were still in the queue."""
        at = claim.until
        self.claims += 1
        if claim.is_reclaim:
            self.reclaims_s.append(claim.seconds)
        if at - claim.overtaken_at > patience_s:
            self.overtaken.append(f"{claim.run_id} was claimed {at - claim.overtaken_at:.2f} s after a younger run")
        for each in older:
            each.overtaken_at = min(each.overtaken_at, at)
        passed_over = [each for each in older if at - each.since > patience_s and each.until - claim.written > race_s]
        if passed_over:
            longest = min(passed_over, key=lambda each: each.since)
            self.violations.append(
                f"{claim.run_id} was claimed at {at:.3f}; of {len(passed_over)} older runs that still waited, "
                f"{longest.run_id} had done so for {at - longest.since:.2f} s, and for {longest.until - at:.2f} s more"
            )

    def describe(self) -> str:
        late = sorted(self.reclaims_s) or [0.0]
        return (
            f"{self.claims} claims, {len(self.violations)} passed over a run that had waited, "
            f"{len(self.overtaken)} came late after a younger one; {len(self.reclaims_s)} claimed again after "
            f"{late[len(late) // 2]:.2f} s in the median, {late[len(late) * 99 // 100]:.2f} s at the 99th percentile, "
            f"{late[-1]:.2f} s at most"
        )


def read_claim_order(
    store_url: str, *, patience_s: float = PATIENCE_S, race_s: float = RACE_S, ignored: Collection[str] = ()
) -> ClaimOrder:
    """Judge everything that the database has recorded."""
    events = []
    for run_id, band, kind, meta, at_ms in query(store_url, _EVENTS):
        delay_s = (json.loads(meta) if isinstance(meta, str) else meta).get("delay_s", 0.0)
        events.append(QueueEvent(at_ms / 1000, run_id, EventKind(kind), delay_s, band))
    return judge_claim_order(events, patience_s=patience_s, race_s=race_s, ignored=ignored)


def judge_claim_order(
    events: Sequence[QueueEvent],  # in the order in which they were written
    *,
    patience_s: float = PATIENCE_S,
    race_s: float = RACE_S,
    ignored: Collection[str] = (),
) -> ClaimOrder:
    found = ClaimOrder()
    queues: dict[int, list[Wait]] = defaultdict(list)  # of each band, oldest first
    waits = list(_find_waits([each for each in events if each.run_id not in ignored]))
    changes = [(min(wait.since, wait.until), 0, wait) for wait in waits] + [(wait.until, 1, wait) for wait in waits]
    for _, is_end, wait in sorted(changes, key=lambda change: change[:2]):
        queue = queues[wait.band]
        if not is_end:
            bisect.insort(queue, wait, key=_age)
            continue
        position = bisect.bisect_left(queue, wait.age, key=_age)
        del queue[position]
        if wait.is_claimed:
            found.note_claim(wait, queue[:position], patience_s, race_s)
    return found


def _age(wait: Wait) -> tuple[float, str]:
    return wait.age


def _find_waits(events: Sequence[QueueEvent]) -> Iterator[Wait]:
    created: dict[str, float] = {}
    due: dict[str, float] = {}
    waiting: dict[str, Wait] = {}
    claimed: set[str] = set()
    written = 0.0
    for event in events:
        written = max(written, event.at)
        state = fold([event.kind])
        if state is RunState.QUEUED:
            if event.run_id in waiting:
                continue  # the event of a run that was set aside: it waits as before
            since = event.at + event.delay_s
            # Without a delay a run keeps its due time, and with it its position.
            due[event.run_id] = since if event.delay_s else due.get(event.run_id, since)
            is_reclaim = created.setdefault(event.run_id, since) == due[event.run_id] and event.run_id in claimed
            waiting[event.run_id] = Wait(event.run_id, event.band, due[event.run_id], since, is_reclaim)
        elif state is not None and (ended := waiting.pop(event.run_id, None)) is not None:
            ended.until, ended.written, ended.is_claimed = event.at, written, event.kind is EventKind.STARTED
            if ended.is_claimed:
                claimed.add(event.run_id)
            yield ended
    yield from waiting.values()
