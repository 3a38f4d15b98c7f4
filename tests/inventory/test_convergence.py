"""Reconcile, fill, reconcile: exactly the gaps that can be closed are closed, and nothing else is requested."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from corral.domain.coverage.absence import AbsenceNote
from corral.domain.coverage.document.parse import parse_inventory
from corral.domain.ports.coverage import HttpAnswer
from corral.domain.queue.feed import FeedRules
from corral.domain.queue.task import QueueTask, parse_queue_file
from corral.inventory.reconcile import Reconciliation, reconcile, remember
from corral.inventory.scan import ScanContext
from corral.store.store import Store

_HERE = "/project/config.yaml"
_KEYS = 2000
_GOOD = '{"points": 100}'
_SOURCES = parse_inventory(
    {
        "sources": {
            "games": {
                "scraper": "games",
                "expected": {
                    "dimensions": {
                        "season": {"seasons": {"from": "2023-24", "to": "2026-27"}},
                        "game_id": {"range": {"from": 1, "to": _KEYS // 4, "pad": 4}},
                    }
                },
                "inventory": {"folder": {"path": "data", "pattern": "{season}/{game_id}.json"}},
                "rules": {"format": "json"},
                "batch": {"size": 20, "of": "game_id", "as": "game_ids"},
            }
        }
    }
)


async def _no_network(url: str, headers: Any = None) -> HttpAnswer:
    raise AssertionError(f"nothing is requested here, not even {url}")


class _World:
    """The files of a project, and a scraper that fills gaps: one request for each key."""

    def __init__(self, root: Path, random: Random) -> None:
        self._root, self._random = root / "data", random
        self.requests: Counter[str] = Counter()
        self.gone: set[str] = set()
        self.failing: set[str] = set()
        for season in ("2023-24", "2024-25", "2025-26", "2026-27"):
            (self._root / season).mkdir(parents=True)
        self.keys = [f"{2023 + n % 4}-{24 + n % 4}/{n // 4 + 1:04}" for n in range(_KEYS)]
        for key in self.keys:
            self._path(key).write_text(_GOOD)

    def _path(self, key: str) -> Path:
        return self._root / f"{key}.json"

    def damage(self) -> tuple[set[str], set[str], set[str]]:
        """Delete 5 %, corrupt 2 %, and let 1 % be gone for ever."""
        chosen = self._random.sample(self.keys, _KEYS * 8 // 100)
        deleted, corrupt = set(chosen[: _KEYS // 20]), set(chosen[_KEYS // 20 : _KEYS * 7 // 100])
        self.gone = set(chosen[_KEYS * 7 // 100 :])
        for key in deleted | self.gone:
            self._path(key).unlink()
        for number, key in enumerate(sorted(corrupt)):
            self._path(key).write_text(["", '{"points": 1', "<html>"][number % 3])
        return deleted, corrupt, self.gone

    def fill(self, task: QueueTask) -> list[AbsenceNote]:
        notes = []
        for game_id in task.document["game_ids"]:
            key = f"{task.document['season']}/{game_id}"
            self.requests[key] += 1
            if key in self.gone:
                notes.append(AbsenceNote(game_id, {"status": 404}, f"{task.id}-run"))
            elif key not in self.failing:
                self._path(key).write_text(_GOOD)
        return notes


async def _cycle(store: Store, context: ScanContext, world: _World, now: datetime) -> Reconciliation:
    """Reconcile, import, and execute every task."""
    found = await reconcile(_SOURCES, context, now)
    await remember(found, context)
    file = parse_queue_file(found.queue, "here")
    assert not file.malformed
    await store.queue.add(file, _HERE)
    await store.queue.feed(_HERE, FeedRules(10**6), lambda _: "executed by the test", None)
    for task in file.tasks:
        await store.coverage.note_absences(world.fill(task), task_id=task.id)
    return found


@pytest.mark.parametrize("seed", [1, 2])
async def test_recoverable_gaps_are_closed_and_healthy_keys_are_left_alone(
    store: Store, tmp_path: Path, seed: int
) -> None:
    world = _World(tmp_path, Random(seed))
    deleted, corrupt, gone = world.damage()
    world.failing = set(sorted(deleted)[:3])
    context, now = ScanContext(store.coverage, _no_network, tmp_path), datetime(2026, 11, 16, tzinfo=UTC)

    first = await _cycle(store, context, world, now)
    assert first.report["completeness"] == 92.0
    assert first.report["gaps"] == _KEYS * 8 // 100
    assert sum(first.report["by_type"][name] for name in ("corrupt", "empty")) == len(corrupt)
    last = first
    for hours in range(1, 5):
        last = await _cycle(store, context, world, now + timedelta(hours=hours))

    assert last.report["tasks"] == 0, "the loop is idle"
    assert last.report["absent"] == len(gone)
    assert (last.report["gaps"], last.report["stuck"]) == (3, 3)
    assert set(world.requests) == deleted | corrupt | gone, "healthy keys are not requested"
    assert {world.requests[key] for key in (deleted | corrupt) - world.failing} == {1}
    assert {world.requests[key] for key in gone | world.failing} == {3}
    assert last.report["completeness"] == 99.8  # 1977 of 1980: the three that fail

    world.failing = set()
    # Long afterwards what was given up and what was absent is requested once more.
    again = await _cycle(store, context, world, now + timedelta(days=120))
    assert again.report["by_type"] == {"missing": 3, "recheck": len(gone)}
    assert {world.requests[key] for key in gone} == {4}
    assert {world.requests[key] for key in sorted(deleted)[:3]} == {4}
    end = await reconcile(_SOURCES, context, now + timedelta(hours=5))
    assert (end.report["completeness"], end.report["tasks"], end.report["gaps"]) == (100.0, 0, 0)


async def test_tasks_keep_their_ids_after_a_kill_between_remembering_and_importing(
    store: Store, tmp_path: Path
) -> None:
    world = _World(tmp_path, Random(3))
    world.damage()
    context, now = ScanContext(store.coverage, _no_network, tmp_path), datetime(2026, 11, 16, tzinfo=UTC)
    killed = await reconcile(_SOURCES, context, now)
    await remember(killed, context)
    found = await reconcile(_SOURCES, context, now + timedelta(hours=1))
    assert found.queue["tasks"] == killed.queue["tasks"]
    await store.queue.add(parse_queue_file(found.queue, "here"), _HERE)
    waiting = await reconcile(_SOURCES, context, now + timedelta(hours=2))
    assert waiting.report["tasks"] == 0
    assert waiting.report["waiting"] == waiting.report["gaps"] == _KEYS * 8 // 100
