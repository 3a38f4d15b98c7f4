"""Schemas of reconciliation and coverage."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

SourceName = Annotated[str, Field(min_length=1, max_length=64)]


class ReconcileRequest(BaseModel):
    """The sources to reconcile. The data inventory is the file of the installation."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    sources: list[SourceName] = Field([], max_length=1000, description="only these sources; all sources if empty")
    is_imported: bool = Field(True, alias="import", description="add the tasks to the queue")


class CoverageCounts(BaseModel):
    model_config = ConfigDict(extra="allow")

    expected: int
    present: int
    absent: int
    gaps: int
    by_type: dict[str, int]
    completeness: Annotated[float, Field(ge=0, le=100)]


class CoverageRead(CoverageCounts):
    """The coverage that a reconciliation found, by source and period."""

    generated_at: str
    run_id: str | None
    tasks: int
    waiting: int
    stuck: int
    by_priority: dict[str, int]
    problems: list[str]
    sources: list[dict[str, Any]]
