"""Forms of scrapyd as tasks, and tasks as jobs of scrapyd."""

from datetime import UTC, datetime
from typing import Any

import pytest

from corral.domain.errors import BadInput
from corral.domain.queue.scrapyd import describe_job, make_entry, read_signal, state_of
from corral.domain.queue.task import StoredTask, TaskState, parse_task
from corral.domain.scripts.scraper import ParameterSpec, ScraperSpec

NOW = datetime(2026, 3, 1, 12, 0, 0, 7, tzinfo=UTC)
TYPES = ("string", "integer", "number", "boolean", "list")
SPEC = ScraperSpec("games", parameters=tuple(ParameterSpec(f"a_{kind}", type=kind) for kind in TYPES))


@pytest.mark.parametrize(
    "name, texts, expected",
    [
        ("a_string", ["5"], "5"),
        ("a_integer", ["5"], 5),
        ("a-integer", ["-5"], -5),
        ("a_integer", ["5.5"], "5.5"),
        ("a_number", ["5.5"], 5.5),
        ("a_number", ["inf"], "inf"),
        ("a_boolean", ["True"], True),
        ("a_boolean", ["no"], False),
        ("a_boolean", ["maybe"], "maybe"),
        ("a_list", ["1,2"], ["1", "2"]),
        ("a_list", ["1", "2"], ["1", "2"]),
        ("unknown", ["1"], "1"),
        ("unknown", ["1", "2"], ["1", "2"]),
    ],
)
def test_arguments_get_the_declared_type(name: str, texts: list[str], expected: Any) -> None:
    entry = make_entry({"project": ["p"], "spider": ["games"], name: texts}, "t", SPEC)
    assert entry == {name: expected, "id": "t", "scraper": "games", "priority": "MEDIUM"}


@pytest.mark.parametrize("text, name", [(None, "SIGINT"), ("term", "SIGTERM"), ("2", "SIGINT"), ("SIGKILL", "SIGKILL")])
def test_signals_have_names_and_numbers(text: str | None, name: str) -> None:
    assert read_signal(text) == name


@pytest.mark.parametrize("text", ["", "STOP", "0", "19", "KILL "])
def test_other_signals_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="INT, TERM, KILL"):
        read_signal(text)


def _task_in(state: TaskState, run_state: str | None = None, **more: Any) -> StoredTask:
    entry = {"id": "t", "scraper": "games", "priority": "LOW", "season": "2024", "custom_settings": {"A": "1"}}
    return StoredTask(parse_task(entry), state, NOW, run_state=run_state, **more)


def test_a_pending_job_shows_its_arguments_and_settings() -> None:
    job = describe_job(_task_in(TaskState.READY), "news")
    about = {"id": "t", "project": "news", "spider": "games", "version": None}
    assert job == {**about, "settings": {"A": "1"}, "args": {"season": "2024"}}


def test_times_are_local_and_without_a_zone() -> None:
    ended = _task_in(TaskState.DEAD, started_at=NOW, ended_at=NOW, run_id="r")
    assert describe_job(ended, "news")["start_time"] == NOW.astimezone().strftime("%Y-%m-%d %H:%M:%S") + ".000007"


@pytest.mark.parametrize(
    "state, run_state, expected",
    [
        (TaskState.READY, None, "pending"),
        (TaskState.STARTED, "queued", "pending"),
        (TaskState.STARTED, "running", "running"),
        (TaskState.STARTED, "waiting_for_human", "running"),
        (TaskState.PARTIAL, "partial", "finished"),
        (TaskState.CANCELLED, None, "finished"),
    ],
)
def test_every_state_is_one_of_three(state: TaskState, run_state: str | None, expected: str) -> None:
    assert state_of(_task_in(state, run_state)) == expected
