"""Helpers of the tests of connections, shared with other tests."""

import time
from collections.abc import Callable
from typing import Any

from tests.slack import SLACK
from tests.stack import Stack


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20 * SLACK
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def health(stack: Stack) -> dict[str, Any]:
    answer = stack.client.get("/health", headers={"Connection": "close"})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())
