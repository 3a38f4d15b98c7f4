"""The node's side of store calls: named reads and writes for runs without items."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

import msgspec
import structlog

from corral.domain.coverage.spec import RecordRows
from corral.domain.coverage.task_plan import GapTask
from corral.domain.errors import DataWithheld, RunNotFound
from corral.domain.ports.stores import EngineStore
from corral.domain.queue.task import parse_queue_file
from corral.domain.verdicts.run_verdict import VERDICT, is_withheld
from corral.engine.held_lease import HeldLease
from corral.engine.node.dataset_calls import DatasetCalls
from corral.engine.node.pool import WorkerProcess
from corral.engine.refresh.calls import ProxyCalls, kids_in
from corral.engine.worker import messages

log = structlog.get_logger()


class StoreCalls:
    def __init__(
        self,
        store: EngineStore,
        write: Callable[[Coroutine[Any, Any, Any]], None],
        proxies: ProxyCalls,
        hand_out_keys: Callable[[Iterable[str]], None],
    ) -> None:
        self._store = store
        self._hand_out_keys = hand_out_keys
        self._write = write
        coverage = store.coverage
        self._calls: dict[str, Callable[..., Awaitable[Any]]] = {
            "absences": coverage.absences,
            "note_reported_absences": coverage.note_reported_absences,
            "forget_absences": coverage.forget_absences,
            "gap_tasks": coverage.gap_tasks,
            "task_states": coverage.task_states,
            "add_report": coverage.add_report,
            "replace_gap_tasks": self._replace_gap_tasks,
            "record_page": self._record_page,
            "import_tasks": self._import_tasks,
            "note_ends": self._note_ends,
            "next_records": self._next_records,
            "has_queue_work": store.queue.has_work,
            **proxies.by_name(),
            **DatasetCalls(store.datasets).by_name(),
        }

    def take(self, worker: WorkerProcess, held: HeldLease, message: messages.CallStore) -> None:
        self._write(self._answer(worker, held, message))

    async def _answer(self, worker: WorkerProcess, held: HeldLease, message: messages.CallStore) -> None:
        run_id, epoch = held.lease.run_id, held.lease.epoch
        try:
            value = await self._calls[message.name](**message.arguments)
        except Exception as error:
            log.error("store_call_failed", run=run_id, call=message.name, exc_info=error)
            reason = f"{message.name}: {type(error).__name__}: {error}"[:500]
            worker.send([messages.RefuseReport(run_id, epoch, reason)])
            return
        self._hand_out_keys(kids_in(value))
        worker.send([messages.ReturnValue(run_id, epoch, msgspec.to_builtins(value))])

    async def _replace_gap_tasks(self, source: str, tasks: list[Any]) -> None:
        await self._store.coverage.replace_gap_tasks(source, msgspec.convert(tasks, list[GapTask]))

    async def _record_page(self, wanted: dict[str, Any], after: str) -> Any:
        return await self._store.coverage.record_page(RecordRows(**wanted), after)

    async def _import_tasks(self, tasks: list[dict[str, Any]], registry: str) -> dict[str, Any]:
        file = parse_queue_file({"tasks": tasks}, "the queue document")
        report = await self._store.queue.add(file, registry)
        return report.document()

    async def _next_records(self, run_id: str, after: str) -> dict[str, Any]:
        """Return a batch of records for an export, or the reason why they are not available."""
        try:
            run = await self._store.runs.get(run_id)
        except RunNotFound as error:
            return {"problem": error.message}
        if is_withheld(run.stats):
            return {"problem": DataWithheld(run_id, run.stats[VERDICT]).message}
        batch = await self._store.records.next_batch(run_id, after)
        records = [record.data for record in batch]
        return {"problem": None, "records": records, "after": batch[-1].id if batch else after}

    async def _note_ends(self) -> int:
        return await self._store.queue.note_ends()
