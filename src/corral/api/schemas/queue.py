"""Schemas of the queue of scraper tasks."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

PriorityLabel = Literal["CRITICAL", "HIGH", "MEDIUM", "LOW"]


class QueueImport(BaseModel):
    """A queue file. Malformed tasks are reported by index, and the rest is imported."""

    model_config = ConfigDict(extra="ignore")

    tasks: list[Any] = Field(
        max_length=100_000, description="objects with id, priority, scraper and the parameters of the scraper"
    )
    total_tasks: Any = None


class MalformedTaskRead(BaseModel):
    index: int
    id: str | None
    reason: str


class QueueImportRead(BaseModel):
    imported: int
    updated: int = Field(description="tasks with a known id and other content; they wait again")
    unchanged: int
    busy: list[str] = Field(description="tasks that changed while the former version is executed; not imported")
    malformed: list[MalformedTaskRead]
    notes: list[str]


class TaskRead(BaseModel):
    id: str
    priority: PriorityLabel
    scraper: str
    state: str = Field(description="ready, the state of the current run, completed, partial, dead or cancelled")
    reason: str | None
    run_id: str | None
    starts: int
    imported_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    task: dict[str, Any]
    history: list[dict[str, Any]]


class QueueStatistics(BaseModel):
    total: int
    by_state: dict[str, int]
    by_priority: dict[str, dict[str, int]]
    by_scraper: dict[str, dict[str, int]]


class RequeuedRead(BaseModel):
    requeued: int


class ScraperRead(BaseModel):
    name: str
    script: str | None
    accepted_parameters: list[str] | None
    timeout_s: float | None
    max_concurrent: int | None
    starts_per_second: float | None
    max_attempts: int | None
    problem: str | None
