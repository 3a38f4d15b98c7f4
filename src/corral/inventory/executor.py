"""Execute a reconciliation run in a worker process, which reaches the database through its node."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import orjson

from corral.domain.coverage.absence import Absence, AbsenceNote
from corral.domain.coverage.document.parse import parse_inventory
from corral.domain.coverage.spec import RecordRows, SourceSpec
from corral.domain.coverage.task_plan import GapTask, GapTaskState
from corral.domain.errors import BadConfiguration
from corral.domain.ports.coverage import HttpReader, RecordPage
from corral.domain.ports.execution import Notify, StoreCall, Task
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.payload.reconcile import ReconcilePayload
from corral.export.file import replace_file
from corral.inventory.reconcile import Reconciliation, reconcile, remember
from corral.inventory.scan import ScanContext

_TASKS_AT_ONCE = 1000


class CalledCoverageStore:
    """The coverage store of a worker process: it calls the store of the node."""

    def __init__(self, call: StoreCall) -> None:
        self._call = call

    async def absences(self, source: str) -> list[Absence]:
        return msgspec.convert(await self._call("absences", {"source": source}), list[Absence])

    async def note_absences(self, notes: Sequence[AbsenceNote], *, source: str = "", task_id: str = "") -> int:
        raise NotImplementedError("a reconciliation notes no absences")

    async def note_reported_absences(self) -> int:
        return int(await self._call("note_reported_absences", {}))

    async def forget_absences(self, source: str, keys: Sequence[str]) -> None:
        await self._call("forget_absences", {"source": source, "keys": list(keys)})

    async def gap_tasks(self, source: str) -> list[GapTask]:
        return msgspec.convert(await self._call("gap_tasks", {"source": source}), list[GapTask])

    async def replace_gap_tasks(self, source: str, tasks: Sequence[GapTask]) -> None:
        await self._call("replace_gap_tasks", {"source": source, "tasks": msgspec.to_builtins(list(tasks))})

    async def task_states(self, task_ids: Sequence[str]) -> dict[str, GapTaskState]:
        result = await self._call("task_states", {"task_ids": list(task_ids)})
        return msgspec.convert(result, dict[str, GapTaskState])

    async def record_page(self, wanted: RecordRows, after: str) -> RecordPage:
        result = await self._call("record_page", {"wanted": asdict(wanted), "after": after})
        return msgspec.convert(result, RecordPage)

    async def add_report(self, report: Mapping[str, Any], run_id: str | None) -> None:
        await self._call("add_report", {"report": dict(report), "run_id": run_id})


class RunReconciler:
    def __init__(self, read: HttpReader) -> None:
        self._read = read

    async def execute(self, task: Task, call: StoreCall, notify: Notify) -> Outcome:
        payload = task.payload.read(ReconcilePayload)
        try:
            sources = parse_inventory(payload.inventory, "the data inventory")
        except BadConfiguration as error:
            return Failed(FailureCode.POLICY, error.message[:2000], "inventory")
        chosen = [source for source in sources if not payload.sources or source.name in payload.sources]
        result = await self._reconcile(chosen, payload, call, notify)
        await call("add_report", {"report": result.report, "run_id": task.run_id})
        imported = await _import(result, payload.registry, call)
        return _outcome(result, imported)

    async def _reconcile(
        self, sources: list[SourceSpec], payload: ReconcilePayload, call: StoreCall, notify: Notify
    ) -> Reconciliation:
        def report_progress(name: str, number: int) -> None:
            notify({"progress": {"done": number, "total": len(sources)}, "source": name})

        await call("note_ends", {})
        context = ScanContext(CalledCoverageStore(call), self._read, Path(payload.root))
        await context.store.note_reported_absences()
        result = await reconcile(sources, context, datetime.now(UTC), report_progress)
        await remember(result, context)
        if payload.output is not None:
            await asyncio.to_thread(write_queue_file, Path(payload.root) / payload.output, result)
        return result


async def _import(result: Reconciliation, registry: str | None, call: StoreCall) -> dict[str, int] | None:
    """Import the tasks into the queue in parts, because the size of a message is limited; return the counts."""
    if registry is None:
        return None
    counts = {"imported": 0, "updated": 0, "unchanged": 0, "malformed": 0}
    tasks = result.queue["tasks"]
    for start in range(0, len(tasks), _TASKS_AT_ONCE):
        report = await call("import_tasks", {"tasks": tasks[start : start + _TASKS_AT_ONCE], "registry": registry})
        for name in ("imported", "updated", "unchanged"):
            counts[name] += report[name]
        counts["malformed"] += len(report["malformed"])
    return counts


def _outcome(result: Reconciliation, imported: dict[str, int] | None) -> Outcome:
    report = result.report
    names = ("expected", "present", "absent", "gaps", "completeness", "waiting", "stuck", "tasks")
    stats: dict[str, Any] = {name: report[name] for name in names}
    total = len(result.results)
    stats["progress"] = {"done": total - len(report["problems"]), "failed": len(report["problems"]), "total": total}
    if imported is not None:
        stats["import"] = imported
    problems = [*report["problems"]]
    if imported is not None and imported["malformed"]:
        problems.append(f"{imported['malformed']} tasks were refused by the queue")
    if problems and len(report["problems"]) == total:
        return Failed(FailureCode.POLICY, "; ".join(problems)[:2000], "inventory_unreadable", stats=stats)
    return Fetched(stats=stats, problems={"sources": problems} if problems else None)


def write_queue_file(path: Path, result: Reconciliation) -> None:
    """Write the queue file, completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as file:
        file.write(orjson.dumps(result.queue, option=orjson.OPT_INDENT_2) + b"\n")
