"""Schemas of the loop."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Window = Annotated[str, Field(max_length=40)]


class LoopStart(BaseModel):
    model_config = ConfigDict(extra="forbid")

    every_minutes: float = Field(15, ge=0.05, le=43_200)
    windows: list[Window] = Field([], max_length=50, description="maintenance windows in UTC, such as 22:00-06:00")


class LoopRead(BaseModel):
    state: str
    every_minutes: float
    windows: list[str]
    next_at: datetime | None
    run_id: str | None
    owner: str | None
    epoch: int
    failures: int
    last: dict[str, Any]
