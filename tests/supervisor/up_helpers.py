"""Helpers of the tests of up, shared with other tests."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import httpx

from tests.waiting import block_until


def lines_until(process: "subprocess.Popen[str]", is_it: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    assert process.stdout is not None
    seen: list[dict[str, Any]] = []
    for line in process.stdout:
        seen.append(json.loads(line))
        if is_it(seen[-1]):
            return seen
    assert process.stderr is not None
    raise AssertionError(f"it never said so: {seen}\n{process.stderr.read()}")


def execute_run(api: httpx.Client, site: str) -> None:
    body = {"target_url": f"{site}/articles", "fields": ["title"], "strategy": "http"}
    job = api.post("/jobs", json=body).json()
    run = api.post(f"/jobs/{job['id']}/runs").json()
    block_until(lambda: api.get(f"/jobs/runs/{run['id']}").json()["status"] == "completed", 30)
