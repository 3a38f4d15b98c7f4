"""What a new job is like where nothing is said about it; None leaves it to the settings of the installation."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class JobDefaults:
    strategy: str | None = None
    timeout_s: float | None = None
    max_attempts: int | None = None
    priority: str | None = None
    respect_robots: bool | None = None
    max_concurrent_runs: int | None = None  # of each node; not of a job

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of(document: Mapping[str, Any]) -> "JobDefaults":
        """Without what this version does not know."""
        known = {each.name for each in fields(JobDefaults)}
        return JobDefaults(**{name: value for name, value in document.items() if name in known})
