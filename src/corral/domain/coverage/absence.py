"""Permanent absences: keys that a source demonstrably does not have.

A scraper that finds that a key does not exist reports it in the result protocol, one line for each key:
`{"absent": {"key": "2024-25/401579404", "status": 404}}`. `read_absences` turns these into values, and
`CoverageStore.note_absences(source, found)` counts them. A key whose absence was confirmed as often as its source asks
for is no gap any more. It is requested again after the `recheck_after` of the source.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from corral.domain.coverage.spec import AbsenceRules

_LONGEST_KEY = 1024
_LONGEST_EVIDENCE = 500


@dataclass(frozen=True, slots=True)
class AbsenceNote:
    """One observation of an absence. Two notes of one run count once."""

    key: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Absence:
    """The sum of the notes about a key."""

    key: str
    confirmations: int
    last_at: float  # seconds since 1970
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def is_confirmed(self, rules: AbsenceRules) -> bool:
        return self.confirmations >= rules.confirmations

    def is_due(self, rules: AbsenceRules, now: float) -> bool:
        """True if a confirmed absence is due for another check."""
        return now - self.last_at >= rules.recheck_s

    def describe(self) -> str:
        status = self.evidence.get("status")
        return f"confirmed {self.confirmations} times" + ("" if status is None else f", status {status}")


def read_absences(lines: Iterable[Mapping[str, Any]], run_id: str | None = None) -> tuple[list[AbsenceNote], int]:
    """Return the notes in the messages of a script, and the number of malformed `absent` messages.

    A message is `{"absent": {"key": …, "status": …}}`, or a list of them under `absent`.
    """
    notes, malformed = [], 0
    for line in lines:
        if "absent" not in line:
            continue
        reported = line["absent"]
        for entry in reported if isinstance(reported, list) else [reported]:
            note = _read_note(entry, run_id)
            if note is None:
                malformed += 1
            else:
                notes.append(note)
    return notes, malformed


def _read_note(value: Any, run_id: str | None) -> AbsenceNote | None:
    if isinstance(value, str):
        value = {"key": value}
    key = value.get("key") if isinstance(value, Mapping) else None
    if isinstance(key, bool) or not isinstance(key, str | int) or not str(key) or len(str(key)) > _LONGEST_KEY:
        return None
    evidence = {
        str(name)[:64]: each if isinstance(each, int | float | bool) or each is None else str(each)[:_LONGEST_EVIDENCE]
        for name, each in list(value.items())[:16]
        if name != "key"
    }
    return AbsenceNote(str(key), evidence, run_id)
