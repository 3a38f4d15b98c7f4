"""Fields that an incomplete attempt found, carried through later attempts of the run so that they are not lost."""

from collections.abc import Mapping
from typing import Any

from corral.domain.runs.completeness.script_content import lacks_scripts
from corral.domain.runs.outcome import AttemptOutcome, Fetched
from corral.domain.runs.run import Run

_KEY = "found_before"


def carry_fields(run: Run, outcome: AttemptOutcome) -> dict[str, Any]:
    """Return the statistics to carry on: the newest incomplete record, or the one carried so far."""
    is_incomplete = isinstance(outcome, Fetched) and (bool(outcome.missing) or lacks_scripts(outcome))
    if isinstance(outcome, Fetched) and is_incomplete and any(is_filled(record) for record in outcome.records):
        carried = {
            "strategy": run.resolved_strategy.value,
            "records": list(outcome.records),
            "missing": list(outcome.missing),
        }
        return {_KEY: carried}
    return {_KEY: run.stats[_KEY]} if _KEY in run.stats else {}


def earlier_fields(run: Run) -> tuple[tuple[dict[str, Any], ...], list[str]] | None:
    """Return the records and missing fields of an earlier attempt; None if no attempt found anything."""
    carried = run.stats.get(_KEY)
    if not isinstance(carried, Mapping):
        return None
    return tuple(carried.get("records") or ()), list(carried.get("missing") or ())


def is_filled(record: Mapping[str, Any]) -> bool:
    return any(value not in (None, "", [], {}) for value in record.values())
