"""The stream of everything, narrowed down; and lists of runs by what holds them."""

import json
import threading
from typing import Any

from tests.stack import Stack


def test_the_stream_of_a_job_brings_only_its_runs(stack: Stack) -> None:
    ours, other = stack.job("/articles"), stack.job("/articles")
    seen: list[dict[str, Any]] = []
    connected = threading.Event()

    def listen() -> None:
        with stack.client.stream("GET", "/events/stream", params={"job_id": ours["id"]}) as response:
            assert response.status_code == 200
            for line in response.iter_lines():
                connected.set()
                if line.startswith("data: ") and "run_id" in line:
                    seen.append(json.loads(line.removeprefix("data: ")))
                    if seen[-1]["message"] == "Run completed":
                        return

    thread = threading.Thread(target=listen)
    thread.start()
    assert connected.wait(10)
    unwanted = stack.wait_for_end(stack.start(other)["id"])
    wanted = stack.start(ours)
    thread.join(20)
    assert not thread.is_alive()
    assert {event["run_id"] for event in seen} == {wanted["id"]} != {unwanted["id"]}
    assert [event["message"] for event in seen] == ["Run created", "Run started", "Run completed"]


def test_a_page_of_paused_runs_is_full_whatever_else_is_held(stack: Stack) -> None:
    paused_job, waiting_job = stack.job("/slow?seconds=60"), stack.job("/account", requires_auth=True)
    paused = [stack.start(paused_job)["id"] for _ in range(3)]
    for run_id in paused:
        stack.client.post(f"/jobs/runs/{run_id}/pause")
    waiting = [stack.start(waiting_job)["id"] for _ in range(3)]
    for run_id in waiting:
        stack.until(run_id, "waiting_for_human")
    first = stack.client.get("/jobs/runs", params={"status": "paused", "limit": 2})
    assert [run["id"] for run in first.json()] == paused[:0:-1]
    cursor = first.headers["X-Next-Cursor"]
    second = stack.client.get("/jobs/runs", params={"status": "paused", "limit": 1, "cursor": cursor})
    assert [run["id"] for run in second.json()] == paused[:1]
    for run_id in paused + waiting:
        stack.client.post(f"/jobs/runs/{run_id}/cancel")
