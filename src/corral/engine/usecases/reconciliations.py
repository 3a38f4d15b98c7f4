"""Start reconciliations as runs."""

from corral.domain.ports.stores import EngineStore
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.payload.reconcile import ReconcilePayload
from corral.domain.runs.queues import Waker
from corral.domain.runs.run import RECONCILE, Run
from corral.engine.worker.kinds.registry import find_kind


class Reconciliations:
    def __init__(self, store: EngineStore, wake: Waker) -> None:
        self._store = store
        self._wake = wake

    async def start(self, payload: ReconcilePayload, key: IdempotencyKey | None = None) -> tuple[Run, bool]:
        """Queue a reconciliation. For a key used before, return the earlier run and True."""
        run = find_kind(RECONCILE).draft_run(payload, max_attempts=1)
        drafts = [EventDraft(EventKind.CREATED, {"sources": list(payload.sources)})]
        [run_id], replayed = await self._store.runs.add([(run, drafts)], key)
        started = await self._store.runs.get(run_id)
        self._wake(started)
        return started, replayed
