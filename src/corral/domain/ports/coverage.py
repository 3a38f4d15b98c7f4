"""The ports that reconciliation needs: the store and the network."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from corral.domain.coverage.absence import Absence, AbsenceNote
from corral.domain.coverage.gap import Entry
from corral.domain.coverage.spec import RecordRows
from corral.domain.coverage.task_plan import GapTask, GapTaskState


class RecordPage(NamedTuple):
    entries: list[Entry]  # values in the order of `RecordRows.fields`
    skipped: int  # records without one of the fields
    next_after: str | None  # None at the end


class CoverageStore(Protocol):
    async def absences(self, source: str) -> list[Absence]: ...

    async def note_absences(self, notes: Sequence[AbsenceNote], *, source: str = "", task_id: str = "") -> int:
        """Count observations that keys do not exist, and return how many were new.

        A note names a key of the source. With a task, the value of its batched dimension is enough.
        """
        ...

    async def note_reported_absences(self) -> int:
        """Count the absences that scripts of gap tasks reported; a repeated call adds nothing."""
        ...

    async def forget_absences(self, source: str, keys: Sequence[str]) -> None: ...

    async def gap_tasks(self, source: str) -> list[GapTask]: ...

    async def replace_gap_tasks(self, source: str, tasks: Sequence[GapTask]) -> None:
        """Store these tasks for the gaps of the source, and delete all others."""
        ...

    async def task_states(self, task_ids: Sequence[str]) -> dict[str, GapTaskState]:
        """Return the state of every id; UNKNOWN if the queue has no such task."""
        ...

    async def record_page(self, wanted: RecordRows, after: str) -> RecordPage: ...

    async def add_report(self, report: Mapping[str, Any], run_id: str | None) -> None: ...


class HttpAnswer(NamedTuple):
    status: int
    content_type: str
    body: bytes


class HttpReader(Protocol):
    async def __call__(self, url: str, headers: Mapping[str, str] = {}) -> HttpAnswer:
        """Request an address that the operator configured; InventoryUnreadable if there is no answer."""
        ...
