"""Schemas of the defaults of new jobs."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from corral.api.schemas.common import Attempts, PriorityName, Seconds, StrategyName
from corral.domain.jobs.defaults import JobDefaults
from corral.settings import Settings

Runs = Annotated[int, Field(strict=True, ge=1, le=100_000)]
# Names in the API, and names as stored.
_NAMES = {
    "default_strategy": "strategy",
    "default_timeout": "timeout_s",
    "default_max_attempts": "max_attempts",
    "default_priority": "priority",
    "respect_robots": "respect_robots",
    "max_concurrent_runs": "max_concurrent_runs",
}


class SettingsChange(BaseModel):
    """Omitted fields keep their value; null restores the default of the installation."""

    model_config = ConfigDict(extra="forbid")

    default_strategy: StrategyName | None = None
    default_timeout: Seconds | None = Field(None, description="in seconds, for one attempt of a new job")
    default_max_attempts: Attempts | None = None
    default_priority: PriorityName | None = None
    respect_robots: StrictBool | None = None
    max_concurrent_runs: Runs | None = Field(None, description="runs at once on each node")

    def changes(self) -> dict[str, Any]:
        return {_NAMES[name]: getattr(self, name) for name in self.model_fields_set}


class SettingsRead(BaseModel):
    default_strategy: StrategyName
    default_timeout: float
    default_max_attempts: int
    default_priority: PriorityName
    respect_robots: bool
    max_concurrent_runs: int


def settings_read(defaults: JobDefaults, settings: Settings) -> dict[str, Any]:
    """Return the defaults in effect: those that were changed, else those of the installation."""
    installed = {
        "strategy": "auto",
        "timeout_s": settings.http_timeout_seconds,
        "max_attempts": settings.default_max_attempts,
        "priority": "medium",
        "respect_robots": True,
        "max_concurrent_runs": settings.workers * settings.runs_per_process,
    }
    changed = {name: value for name, value in defaults.document().items() if value is not None}
    return {name: (installed | changed)[stored] for name, stored in _NAMES.items()}
