"""Reconciliation: gap tasks, absences, reports."""

from collections.abc import Mapping, Sequence
from typing import Any

from corral.domain.coverage.absence import Absence, AbsenceNote
from corral.domain.coverage.spec import RecordRows
from corral.domain.coverage.task_plan import GapTask, GapTaskState
from corral.domain.loop.state import LoopState
from corral.domain.ports.coverage import RecordPage
from corral.domain.runs.event import EventDraft
from corral.domain.runs.run import NewRun
from corral.store.database import Database
from corral.store.queries.coverage import gaps, loop, records
from corral.store.queries.coverage.gaps import StoredReport


class SqlCoverageStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def absences(self, source: str) -> list[Absence]:
        return await self._db.read_slow(lambda tx: gaps.absences(tx, source))

    async def note_absences(self, notes: Sequence[AbsenceNote], *, source: str = "", task_id: str = "") -> int:
        return await self._db.write(lambda tx: gaps.note_absences(tx, notes, source, task_id))

    async def note_reported_absences(self) -> int:
        return await self._db.write(gaps.note_reported_absences)

    async def forget_absences(self, source: str, keys: Sequence[str]) -> None:
        await self._db.write(lambda tx: gaps.forget_absences(tx, source, keys))

    async def gap_tasks(self, source: str) -> list[GapTask]:
        return await self._db.read_slow(lambda tx: gaps.gap_tasks(tx, source))

    async def replace_gap_tasks(self, source: str, tasks: Sequence[GapTask]) -> None:
        await self._db.write(lambda tx: gaps.replace_gap_tasks(tx, source, tasks))

    async def task_states(self, task_ids: Sequence[str]) -> dict[str, GapTaskState]:
        return await self._db.read_slow(lambda tx: gaps.task_states(tx, task_ids))

    async def record_page(self, wanted: RecordRows, after: str) -> RecordPage:
        return await self._db.read_slow(lambda tx: records.record_page(tx, wanted, after))

    async def add_report(self, report: Mapping[str, Any], run_id: str | None) -> None:
        await self._db.write(lambda tx: gaps.add_report(tx, report, run_id))

    async def report(self, run_id: str | None = None) -> StoredReport | None:
        return await self._db.read(lambda tx: gaps.read_report(tx, run_id))


class SqlLoopStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def read(self) -> LoopState:
        return await self._db.read(loop.read)

    async def configure(self, every_s: float, windows: Sequence[str]) -> LoopState:
        return await self._db.write(lambda tx: loop.configure(tx, every_s, windows))

    async def stop(self) -> LoopState:
        return await self._db.write(loop.stop)

    async def take(self, owner: str, lease_s: float) -> LoopState | None:
        return await self._db.write(lambda tx: loop.take(tx, owner, lease_s))

    async def start_run(self, state: LoopState, run: NewRun, drafts: Sequence[EventDraft]) -> bool:
        return await self._db.write(lambda tx: loop.start_run(tx, state, run, drafts))

    async def end_run(self, state: LoopState) -> bool:
        return await self._db.write(lambda tx: loop.end_run(tx, state))

    async def leave(self, owner: str) -> None:
        await self._db.write(lambda tx: loop.leave(tx, owner))
