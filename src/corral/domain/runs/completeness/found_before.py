"""Fields that one strategy found while others were missing: kept while the run goes on, so that nothing is lost."""

from collections.abc import Mapping
from typing import Any

from corral.domain.runs.completeness.script_content import lacks_scripts
from corral.domain.runs.outcome import AttemptOutcome, Fetched
from corral.domain.runs.run import Run

_KEY = "found_before"


def carry_fields(run: Run, outcome: AttemptOutcome) -> dict[str, Any]:
    """What the statistics of a run that goes on remember: the newest incomplete record, or the one before it."""
    is_incomplete = isinstance(outcome, Fetched) and (bool(outcome.missing) or lacks_scripts(outcome))
    if isinstance(outcome, Fetched) and is_incomplete and any(is_filled(record) for record in outcome.records):
        found = {
            "strategy": run.resolved_strategy.value,
            "records": list(outcome.records),
            "missing": list(outcome.missing),
        }
        return {_KEY: found}
    return {_KEY: run.stats[_KEY]} if _KEY in run.stats else {}


def earlier_fields(run: Run) -> tuple[tuple[dict[str, Any], ...], list[str]] | None:
    """Records and missing fields of an earlier attempt; None where no attempt has found anything."""
    found = run.stats.get(_KEY)
    if not isinstance(found, Mapping):
        return None
    return tuple(found.get("records") or ()), list(found.get("missing") or ())


def is_filled(record: Mapping[str, Any]) -> bool:
    return any(value not in (None, "", [], {}) for value in record.values())
