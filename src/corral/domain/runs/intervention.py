"""Interventions: a run that cannot continue until a person has acted."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class InterventionKind(StrEnum):
    LOGIN = "login"
    QUARANTINE = "quarantine"  # the run killed several workers
    CAPTCHA = "captcha"
    MISSING_FIELD = "missing_field"


class InterventionStatus(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"  # by a person; the run went on
    CANCELLED = "cancelled"  # the run was cancelled first


@dataclass(frozen=True, slots=True)
class InterventionDraft:
    kind: InterventionKind
    reason: str
    url: str | None


@dataclass(frozen=True, slots=True)
class Intervention:
    id: str
    run_id: str
    job_id: str | None
    kind: InterventionKind
    reason: str
    url: str | None
    status: InterventionStatus
    created_at: datetime
    resolved_at: datetime | None = None
    screenshot: str | None = None  # an artifact of the run, while it is kept
