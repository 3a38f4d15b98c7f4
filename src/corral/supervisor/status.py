"""The status file of a supervisor, for other processes on this machine."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from corral.supervisor.plan import ServiceState
from corral.supervisor.records import is_supervised, write_whole

_FILE = "status.json"


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    name: str
    state: ServiceState
    since: datetime  # in this state
    is_ours: bool  # started by the supervisor; otherwise adopted
    pid: int | None = None
    problem: str | None = None  # the last problem of its check, or the reason of its end
    restarts: int = 0
    next_start_s: float | None = None  # until it is started again
    log: str | None = None

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "state": self.state.value, "since": _format_time(self.since)}


def write_status(folder: Path, services: Sequence[ServiceStatus], began: datetime) -> None:
    header = {"pid": os.getpid(), "started_at": _format_time(began), "updated_at": _format_time(datetime.now(UTC))}
    write_whole(folder / _FILE, json.dumps({**header, "services": [service.document() for service in services]}))


def read_status(folder: Path) -> dict[str, Any] | None:
    """Return the status, or None without a running supervisor, even if an earlier one left its file."""
    if not is_supervised(folder):
        return None
    try:
        document = json.loads((folder / _FILE).read_text())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _format_time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
