"""The changes of the rows of a job between two of its runs."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from corral.domain.crawl.crawl import LIST_BOUND
from corral.domain.crawl.payload import plan_of
from corral.domain.errors import BadInput
from corral.domain.records.row_key import ROW_KEYS, digest_of, volatile_fields
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.run import CRAWL, CRAWL_HELPER, Run, RunState
from corral.domain.verdicts.run_verdict import DATA_VERDICT, is_withheld


class RowChange(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    GONE = "gone"  # the later run was complete and has no such row
    UNKNOWN = "unknown"  # the later run has no such row and was not complete


# The changes that an export contains.
CHANGES = frozenset({RowChange.NEW, RowChange.CHANGED, RowChange.GONE})
# Runs that a later run is compared with.
COMPARABLE = (RunState.COMPLETED, RunState.PARTIAL)


@dataclass(frozen=True, slots=True)
class RunComparison:
    """A run, and the earlier run of the job that it is compared with; without one every row is new."""

    run_id: str
    since: str | None
    is_complete: bool
    is_since_complete: bool = True  # if False, the earlier run may have missed rows that count as new
    ignored: frozenset[str] = frozenset()  # fields that do not count as a change
    key: tuple[str, ...] = ()  # see Job.record_key
    key_problems: dict[str, Any] = field(default_factory=dict)  # of the later run: see RowKeys.stats

    @property
    def absent(self) -> RowChange:
        """Return the change of a row that only the earlier run has."""
        return RowChange.GONE if self.is_complete else RowChange.UNKNOWN


@dataclass(frozen=True, slots=True)
class ChangedRow:
    change: RowChange
    key: str
    record_id: str  # of the later run, or of the earlier one if only that has the row
    data: dict[str, Any]
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)  # of a changed row: both values of each field


def compare_runs(run: Run, since: Run | None) -> RunComparison:
    """Return how to compare a run with an earlier run of its job."""
    if not run.state.is_terminal:
        hint = "wait for its end, or name another run"
        raise BadInput(f"run {run.id} has not ended", field="run_id", hint=hint)
    if since is not None and (since.id == run.id or not since.state.is_terminal):
        what = "is the run itself" if since.id == run.id else "has not ended"
        raise BadInput(f"run {since.id} {what}", field="since", hint="name an earlier run of the job")
    key = key_of(run)
    if since is not None and key_of(since) != key:
        hint = "rows of two runs are comparable if both have the same key"
        raise BadInput(f"run {since.id} has another record key", field="since", hint=hint)
    return RunComparison(
        run.id,
        None if since is None else since.id,
        has_every_row(run),
        since is None or has_every_row(since),
        fields_to_ignore(run),
        key,
        run.stats.get(ROW_KEYS) or {},
    )


def fields_to_ignore(run: Run) -> frozenset[str]:
    """Return the fields that do not count as a change of the run's records."""
    if run.kind in (CRAWL, CRAWL_HELPER):
        return volatile_fields(plan_of(run.payload).every_spec, is_crawl=True)
    return volatile_fields(run.payload.read(PagePayload).fields, is_crawl=False)


def key_of(run: Run) -> tuple[str, ...]:
    """Return the record key that the job had at the time of the run."""
    if run.kind == CRAWL:
        return plan_of(run.payload).record_key
    return run.payload.read(PagePayload).record_key


def has_every_row(run: Run) -> bool:
    """Return whether a row that the run lacks no longer exists. A run that a limit stopped did not visit every page."""
    is_cut = run.stats.get("stopped_by") or (run.stats.get("reasons") or {}).get(LIST_BOUND)
    # A person accepted the data, and nothing else was wrong with the run.
    is_accepted = run.failure_detail == DATA_VERDICT and not is_withheld(run.stats)
    is_whole = run.state is RunState.COMPLETED or (run.state is RunState.PARTIAL and is_accepted)
    return is_whole and not is_cut


def choose_baseline(run: Run, earlier: Iterable[Run]) -> Run | None:
    """Return the run to compare with, out of earlier runs from the newest to the oldest.

    It is the newest run that had every row: rows that a run missed would count as new. If there is none, it is the
    newest run with results. Runs with another record key, and runs whose data is withheld, are not comparable.
    """
    fallback = None
    for candidate in earlier:
        if candidate.kind != run.kind or candidate.state not in COMPARABLE or key_of(candidate) != key_of(run):
            continue
        if is_withheld(candidate.stats):
            continue
        if has_every_row(candidate):
            return candidate
        fallback = fallback or candidate
    return fallback


def diff_fields(
    before: Mapping[str, Any], after: Mapping[str, Any], ignored: Collection[str] = ()
) -> dict[str, dict[str, Any]]:
    """Return the fields whose values differ, with both values."""
    names = [name for name in dict.fromkeys((*before, *after)) if name not in ignored]
    return {
        name: {"before": before.get(name), "after": after.get(name)}
        for name in names
        if digest_of({name: before.get(name)}) != digest_of({name: after.get(name)})
    }
