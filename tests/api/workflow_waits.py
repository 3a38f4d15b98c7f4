"""Waiting for the end of a workflow over HTTP."""

from typing import Any

from tests.stack import Stack
from tests.waiting import block_until


def wait_for(stack: Stack, workflow_id: str, *statuses: str) -> dict[str, Any]:
    def read() -> dict[str, Any] | None:
        now = stack.client.get(f"/workflows/{workflow_id}").json()
        return dict(now) if now["status"] in statuses else None

    found = block_until(read, within_s=60)
    assert found is not None
    return found
