"""What is forgotten, and when."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retention:
    """None keeps for ever. Records go with their run unless they are to be kept."""

    max_age_days: float | None = None
    max_finished_runs: int | None = None
    keep_records: bool = True
