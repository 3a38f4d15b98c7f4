"""The processes of an installation, as their supervisor sees them."""

from datetime import datetime

from pydantic import BaseModel, Field

from corral.supervisor.plan import ServiceState


class ServiceRead(BaseModel):
    name: str
    state: ServiceState
    since: datetime = Field(description="when it entered this state")
    is_ours: bool = Field(description="started by the supervisor; otherwise it is used and never stopped")
    pid: int | None
    problem: str | None = Field(description="why it is unhealthy, or why it ended")
    restarts: int
    next_start_s: float | None = Field(description="seconds until it is started again")
    log: str | None = Field(description="its log file, on the machine of the supervisor")


class SupervisorRead(BaseModel):
    pid: int
    started_at: datetime
    updated_at: datetime
    services: list[ServiceRead] = Field(description="in the order of their start")
