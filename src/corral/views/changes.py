"""What changed between two runs of a job, as the API and the command line show it."""

from collections.abc import Mapping, Sequence
from typing import Any

from corral.domain.fields.record_key import describe_record_key
from corral.domain.records.changes import ChangedRow, RowChange, RunComparison


def row_read(row: ChangedRow) -> dict[str, Any]:
    return {
        "change": row.change.value,
        "key": row.key,
        "record_id": row.record_id,
        "data": row.data,
        "fields": row.fields,
    }


def changes_read(
    job_id: str, comparison: RunComparison, counts: Mapping[RowChange, int], rows: Sequence[ChangedRow]
) -> dict[str, Any]:
    return {
        "job_id": job_id,
        "run_id": comparison.run_id,
        "since": comparison.since,
        "is_complete": comparison.is_complete,
        "is_since_complete": comparison.is_since_complete,
        "record_key": describe_record_key(comparison.key),
        "key_problems": comparison.key_problems,
        "counts": {change.value: counts[change] for change in RowChange},
        "rows": [row_read(row) for row in rows],
    }
