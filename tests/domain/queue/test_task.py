"""Queue files: what is a task, which entries are malformed, and when two entries are the same task."""

from typing import Any

import pytest

from corral.domain.errors import BadConfiguration
from corral.domain.jobs.job import Priority
from corral.domain.queue.task import parse_queue_file, parse_task

_TASK = {"id": "task_000001", "priority": "CRITICAL", "source": "espn", "scraper": "espn_scraper", "season": "2024-25"}


def _nest(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def test_the_example_of_the_seed_is_read() -> None:
    task = parse_task({**_TASK, "game_ids": [401579404, 401579405], "estimated_time_minutes": 45})
    assert (task.id, task.priority, task.scraper) == ("task_000001", Priority.CRITICAL, "espn_scraper")
    assert task.estimated_minutes == 45
    assert task.parameters(None) == {"season": "2024-25", "game_ids": [401579404, 401579405]}
    assert task.parameters(["season", "source"]).keys() == {"season", "source", "game_ids"}


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"id": None}, "id"),
        ({"id": "a/../b"}, "id"),
        ({"id": "x" * 200}, "id"),
        ({"priority": "URGENT"}, "priority"),
        ({"priority": 1}, "priority"),
        ({"scraper": ""}, "scraper"),
        ({"scraper": ["a"]}, "scraper"),
        ({"estimated_time_minutes": "abc"}, "estimated_time_minutes"),
        ({"estimated_time_minutes": float("inf")}, "estimated_time_minutes"),
        ({"estimated_time_minutes": True}, "estimated_time_minutes"),
        ({"season": "\ud800"}, "JSON"),
        ({"estimated_time_minutes": 10**400}, "estimated_time_minutes"),
        ({"season": "x" * 300_000}, "bytes"),
        ({"reason": "x" * 300_000}, "bytes"),
        ({"reason": "\ud800"}, "JSON"),
        ({"season": "a\0b"}, "NUL"),
        ({"game_ids": ["a\0b"]}, "NUL"),
        ({"scraper": "a\0b"}, "NUL"),
        ({"season": _nest(20_000)}, "nested"),
    ],
)
def test_a_malformed_entry_is_reported_by_index_and_the_rest_is_read(change: dict[str, Any], reason: str) -> None:
    document = {"tasks": [{**_TASK, **change}, "text", {**_TASK, "id": "good", "priority": "low"}]}
    found = parse_queue_file(document, "gaps.json")
    assert [task.id for task in found.tasks] == ["good"]
    assert [each.index for each in found.malformed] == [0, 1]
    assert reason in found.malformed[0].reason


def test_a_doubled_id_and_a_wrong_total_are_named() -> None:
    found = parse_queue_file({"total_tasks": 7, "tasks": [_TASK, _TASK]}, "gaps.json")
    assert len(found.tasks) == 1
    assert "twice" in found.malformed[0].reason
    assert found.notes == ["total_tasks is 7, but there are 2"]
    assert parse_queue_file({"total_tasks": [1], "tasks": []}, "gaps.json").notes


@pytest.mark.parametrize("document", [[], {}, {"tasks": {}}, "text", None])
def test_what_is_no_queue_file_is_refused(document: Any) -> None:
    with pytest.raises(BadConfiguration, match=r"gaps\.json"):
        parse_queue_file(document, "gaps.json")


def test_another_priority_or_reason_does_not_make_another_task() -> None:
    task = parse_task(_TASK)
    assert parse_task({**_TASK, "priority": "LOW", "reason": "why"}).digest == task.digest
    assert parse_task({**_TASK, "season": "2023-24"}).digest != task.digest
    assert parse_task({**_TASK, "scraper": "other"}).digest != task.digest


def test_settings_of_a_task_are_an_object_and_no_parameter() -> None:
    entry = {"id": "a", "scraper": "games", "priority": "LOW", "season": "2024"}
    task = parse_task({**entry, "custom_settings": {"delay": 2}})
    assert (task.custom_settings, task.parameters(None)) == ({"delay": 2}, {"season": "2024"})
    assert task.digest != parse_task(entry).digest
    with pytest.raises(ValueError, match="custom_settings is not an object"):
        parse_task({**entry, "custom_settings": ["delay"]})
