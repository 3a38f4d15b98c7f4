import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.stack import Stack

Message = dict[str, Any]


def _messages(response: httpx.Response) -> Iterator[Message]:
    found: Message = {}
    for line in response.iter_lines():
        if not line and found:
            yield found
            found = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            found[name] = json.loads(value) if name == "data" else value


def _whole(stack: Stack, run_id: str, after: int | None = None) -> list[Message]:
    headers = {"Last-Event-ID": str(after)} if after is not None else {}
    with stack.client.stream("GET", f"/jobs/runs/{run_id}/events/stream", headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        return list(_messages(response))


def test_a_stream_brings_each_event_once_live_and_ends_after_the_last(stack: Stack) -> None:
    run = stack.start(stack.job("/slow?seconds=2"))
    began = time.monotonic()
    messages = _whole(stack, run["id"])
    assert time.monotonic() - began > 1
    assert [message["id"] for message in messages] == ["1", "2", "3"]
    assert {message["event"] for message in messages} == {"run_event"}
    listed = stack.client.get(f"/jobs/runs/{run['id']}/events").json()
    assert [message["data"] for message in messages] == listed


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_last_event_id_resumes_without_loss_or_repeat(stack: Stack, after: int) -> None:
    run = stack.wait_for_end(stack.start(stack.job("/articles"))["id"])
    assert [int(message["id"]) for message in _whole(stack, run["id"], after)] == list(range(after + 1, 4))


def test_a_last_event_id_that_is_not_ours_is_422(stack: Stack) -> None:
    run = stack.wait_for_end(stack.start(stack.job("/articles"))["id"])
    answer = stack.client.get(f"/jobs/runs/{run['id']}/events/stream", headers={"Last-Event-ID": "x"})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "Last-Event-ID")


def test_the_stream_of_everything_brings_the_events_of_all_runs(stack: Stack) -> None:
    seen: list[Message] = []
    connected = threading.Event()

    def listen() -> None:
        with stack.client.stream("GET", "/events/stream") as response:
            connected.set()
            for message in _messages(response):
                seen.append(message)
                data = message["data"]
                if (data.get("run_id"), data.get("message")) == (second["id"], "Run completed"):
                    return

    second: dict[str, Any] = {"id": None}
    thread = threading.Thread(target=listen)
    thread.start()
    connected.wait(5)
    job = stack.job("/articles")
    first = stack.wait_for_end(stack.start(job)["id"])
    second.update(stack.start(job))
    thread.join(20)
    assert not thread.is_alive()
    of_first = [each["data"]["message"] for each in seen if each["data"].get("run_id") == first["id"]]
    assert of_first == ["Run created", "Run started", "Run completed"]
    assert any(message["event"] == "progress" for message in seen)
    positions = [int(message["id"]) for message in seen if "id" in message]
    assert positions == sorted(set(positions))


def test_events_are_paged_and_bounded(stack: Stack) -> None:
    run = stack.wait_for_end(stack.start(stack.job("/articles"))["id"])
    path = f"/jobs/runs/{run['id']}/events"
    assert len(stack.client.get(f"{path}?limit=2").json()) == 2
    assert stack.client.get(f"{path}?limit=1001").status_code == 422
    assert [event["seq"] for event in stack.client.get(f"{path}?after=2").json()] == [3]
