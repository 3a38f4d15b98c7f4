"""The state of the loop as the API and the command line show it."""

from datetime import UTC, datetime
from typing import Any

from corral.domain.loop.state import LoopState, find_phase


def loop_view(state: LoopState, now: datetime, *, has_open_tasks: bool) -> dict[str, Any]:
    last = dict(state.last)
    if "ended_at" in last:
        last["ended_at"] = datetime.fromtimestamp(last["ended_at"], UTC)
    return {
        "state": find_phase(state, now, has_open_tasks=has_open_tasks).value,
        "every_minutes": state.every_s / 60,
        "windows": list(state.windows),
        "next_at": datetime.fromtimestamp(state.next_at, UTC) if state.is_on and state.run_id is None else None,
        "run_id": state.run_id,
        "owner": state.owner if state.is_on else None,
        "epoch": state.epoch,
        "failures": state.failures,
        "last": last,
    }
