"""Helpers of the tests of connections, shared with other tests."""

from typing import Any

from tests.stack import Stack


def health(stack: Stack) -> dict[str, Any]:
    answer = stack.client.get("/health", headers={"Connection": "close"})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())
