"""Interventions: requests to a person, without whom a run cannot continue."""

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
    RESOLVED = "resolved"  # by a person; the run continued
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
    screenshot: str | None = None  # id of an artifact of the run, while it is stored
