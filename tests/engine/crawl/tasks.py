"""Helpers of the tests of scraping api, shared with other tests."""

import time
from typing import Any

from tests.slack import SLACK
from tests.stack import Stack
from tests.waiting import pauses

UNKNOWN = "01890000-0000-7000-8000-000000000000"


def submit(stack: Stack, url: str, **options: Any) -> str:
    answer = stack.client.post("/scraping/async-scrape", json={"url": url, **options})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["status"], set(body)) == (
        "pending",
        {"task_id", "status", "message", "estimated_duration_minutes"},
    )
    return str(body["task_id"])


def status(stack: Stack, task: str) -> dict[str, Any]:
    answer = stack.client.get(f"/scraping/tasks/{task}/status")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def wait_for_task(stack: Stack, task: str, within_s: float = 20.0) -> dict[str, Any]:
    deadline = time.monotonic() + within_s * SLACK
    looks = pauses()
    while (now := status(stack, task))["status"] in ("pending", "running"):
        assert 0 <= now["progress"] <= 100
        assert time.monotonic() < deadline, now
        time.sleep(next(looks))
    return now


def results(stack: Stack, task: str, **query: Any) -> dict[str, Any]:
    return dict(stack.client.get(f"/scraping/tasks/{task}/results", params=query).json())
