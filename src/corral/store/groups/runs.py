"""Runs, the leases on them, and the queues they wait in."""

from collections.abc import Callable, Sequence
from typing import Any

from corral.domain.errors import StorageMoved
from corral.domain.hosts.claiming import ANY_HOST, HostRoom
from corral.domain.ids import Owner
from corral.domain.runs.event import EventDraft
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.loss import Loss
from corral.domain.runs.node import Neglect, QueueNow
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.queues import Hint
from corral.domain.runs.run import EVERY_LANE, Lanes, Lease, NewRun, Run, RunAction, RunState
from corral.domain.runs.settlement import Settlement
from corral.store.database import Database, write_unless_moved
from corral.store.queries import losses
from corral.store.queries.runs import claims, data_verdicts, pinned_runs, queues, runs
from corral.store.queries.workflows import control, ends
from corral.store.tx import Tx


class SqlRunStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    @property
    def writes_in_order(self) -> bool:
        return not self._db.is_postgres

    async def add(
        self, new: Sequence[tuple[NewRun, Sequence[EventDraft]]], key: IdempotencyKey | None = None
    ) -> tuple[list[str], bool]:
        return await self._db.write(lambda tx: runs.add(tx, new, key))

    async def get(self, run_id: str) -> Run:
        return await self._db.read(lambda tx: runs.get(tx, run_id))

    async def newest(self, job_id: str | None, state: RunState | None, before: str | None, limit: int) -> list[Run]:
        return await self._db.read(lambda tx: runs.newest(tx, job_id, state, before, limit))

    async def apply_action(self, run_id: str, action: RunAction, detail: str | None = None) -> Run:
        """Apply a person's action. On the run of a workflow, it also applies to the steps."""

        def apply(tx: Tx) -> Run:
            workflow = control.lock_for(tx, run_id)
            run = runs.apply_action(tx, run_id, action, detail)
            return run if workflow is None else control.follow_action(tx, workflow, run, action)

        return await self._db.write(apply)

    async def replace_held_payload(self, run_id: str, payload: Payload) -> None:
        await self._db.write(lambda tx: runs.replace_held_payload(tx, run_id, payload))

    async def count_live(self) -> dict[str, int]:
        return await self._db.read(runs.count_live)

    async def count_queues(self) -> list[QueueNow]:
        return await self._db.read_slow(queues.now)

    async def find_neglected(self, after_s: float) -> list[Neglect]:
        return await self._db.read(lambda tx: queues.neglect(tx, after_s))

    async def keep(self, run_id: str, *, keep: bool) -> None:
        """Exempt a finished crawl from retention, or end the exemption."""
        await self._db.write(lambda tx: (pinned_runs.pin if keep else pinned_runs.unpin)(tx, run_id))

    async def is_pinned(self, run_id: str) -> bool:
        return await self._db.read(lambda tx: pinned_runs.is_pinned(tx, run_id))

    async def claim(
        self, owner: Owner, limit: int, lease_s: float, lanes: Lanes = EVERY_LANE, hosts: HostRoom = ANY_HOST
    ) -> list[Lease]:
        return await self._db.write(lambda tx: claims.claim(tx, owner, limit, lease_s, lanes, hosts))

    async def add_claimed(self, new: NewRun, drafts: Sequence[EventDraft], owner: Owner, lease_s: float) -> list[Lease]:
        """Add a run and lease it in one transaction, so that no other node sees it queued."""

        def write(tx: Tx) -> list[Lease]:
            runs.add(tx, [(new, drafts)])
            return claims.claim_one(tx, new.id, owner, lease_s)

        return await self._db.write(write)

    async def claim_one(self, run_id: str, owner: Owner, lease_s: float, hosts: HostRoom = ANY_HOST) -> list[Lease]:
        return await self._db.write(lambda tx: claims.claim_one(tx, run_id, owner, lease_s, hosts))

    async def due_again(self, within_s: float, limit: int) -> list[Hint]:
        return await self._db.read(lambda tx: claims.due_again(tx, within_s, limit))

    def renew_from_thread(
        self, leases: Sequence[tuple[str, int]], owner: Owner, lease_s: float
    ) -> set[tuple[str, int]]:
        try:
            return self._db.write_from_thread(lambda tx: claims.renew(tx, leases, owner, lease_s))
        except StorageMoved:
            return set()

    async def settle_all(self, settlements: Sequence[Settlement]) -> list[bool]:
        """Settle many runs in one round trip to the database."""
        lost = [False] * len(settlements)

        def settle(tx: Tx) -> list[bool]:
            locked = ends.lock_parents(tx, [settlement.lease for settlement in settlements])
            landed = claims.settle_all(tx, settlements)
            ends.note_settled(tx, settlements, landed, locked)
            return landed

        return await write_unless_moved(self._db, settle, lost)

    async def accept_data(self, run_id: str) -> Run:
        """Accept the data of a run: its withheld records become ordinary."""
        return await self._db.write(lambda tx: data_verdicts.accept(tx, run_id))

    async def note_progress(self, lease: Lease, stats: dict[str, Any]) -> None:
        """Replace the statistics of a run that continues; write nothing if the lease was lost."""
        await write_unless_moved(self._db, lambda tx: claims.note_progress(tx, lease, stats), None)

    async def release(self, leases: Sequence[Lease], reason: str) -> int:
        return await write_unless_moved(
            self._db, lambda tx: _take_back(tx, leases, lambda: claims.release(tx, leases, reason)), 0
        )

    async def lose(self, lost: Sequence[Loss]) -> int:
        leases = [loss.lease for loss in lost]
        return await write_unless_moved(self._db, lambda tx: _take_back(tx, leases, lambda: losses.lose(tx, lost)), 0)

    async def expire(self, owner: Owner) -> int:
        return await self._db.write(lambda tx: losses.expire(tx, owner), essential=True)

    async def reap(self, limit: int = 500) -> int:
        return await self._db.write(lambda tx: _reap(tx, limit), essential=True)


def _reap(tx: Tx, limit: int) -> int:
    """Requeue runs with expired leases. Their workflows are locked before them, as in a settlement."""
    expired = losses.find_expired(tx, limit)
    return _take_back(tx, expired, lambda: losses.reap(tx, limit)) if expired else 0


def _take_back(tx: Tx, leases: Sequence[Lease], requeue: Callable[[], int]) -> int:
    """Requeue runs; hold those of a paused workflow."""
    locked = ends.lock_parents(tx, leases)
    count = requeue()
    ends.note_requeued(tx, leases, locked)
    return count
