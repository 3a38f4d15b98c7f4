"""Sessions as the API and the command line show them: what there is, never the secrets."""

from datetime import datetime
from typing import Any

from corral.domain.sites.session import SessionInfo
from corral.engine.usecases.sessions import SessionCheck


def session_read(info: SessionInfo) -> dict[str, Any]:
    about = info.about
    return {
        "id": info.id,
        "job_id": info.job_id,
        "name": info.name,
        "version": info.version,
        "key_id": info.kid,
        "cookies": about["cookies"],
        "domains": about["domains"],
        "origins": about["origins"],
        "headers": about["headers"],
        "expires_at": _moment(about["expires"]),
        "created_at": info.created_at,
        "updated_at": info.updated_at,
        "checked_at": info.checked_at,
        "check": info.check.value,
    }


def _moment(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds).astimezone()
    except (ValueError, OverflowError, OSError):
        return None  # beyond what a calendar knows


def check_read(session_id: str, check: SessionCheck) -> dict[str, Any]:
    valid = {"valid": True, "dead": False}.get(check.result.value)
    return {
        "session_id": session_id,
        "valid": valid,
        "reason": check.reason,
        "http_status": check.http_status,
        "strategy": check.strategy,
    }
