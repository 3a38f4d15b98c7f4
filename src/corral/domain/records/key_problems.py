"""The event of a run whose records lack or share the keys that their job defines. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from corral.domain.records.row_key import ROW_KEYS
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.retry import Transition


def report_key_problems(transition: Transition, stats: Mapping[str, Any]) -> Transition:
    """Add the event for rows that share a key or lack one, before the event that ends the run."""
    problems = stats.get(ROW_KEYS) or {}
    if not transition.to.is_terminal or not (problems.get("duplicates") or problems.get("missing")):
        return transition
    return replace(transition, events=(EventDraft(EventKind.KEY_PROBLEMS, problems), *transition.events))
