"""`corral queue reconcile`: gaps become a queue file, and the coverage is printed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Corral

_INVENTORY = """
sources:
  games:
    scraper: games_scraper
    expected:
      dimensions:
        season: {seasons: {from: 2023-24, to: 2024-25}}
        game_id: {range: {from: 1, to: 10}}
    inventory: {folder: {path: games, pattern: "{season}/{game_id}.json"}}
    rules: {format: json}
    batch: {size: 4, of: game_id, as: game_ids}
  players:
    scraper: players_scraper
    expected: {keys: [anna, bert], dimension: player}
    inventory: {folder: {path: players, pattern: "{player}.csv"}}
"""


@pytest.fixture
def project(corral: Corral) -> Corral:
    (corral.folder / "config").mkdir()
    (corral.folder / "config/data_inventory.yaml").write_text(_INVENTORY)
    for season in ("2023-24", "2024-25"):
        (corral.folder / "games" / season).mkdir(parents=True)
        for number in range(1, 11):
            (corral.folder / "games" / season / f"{number}.json").write_text("{}")
    (corral.folder / "players").mkdir()
    (corral.folder / "players/anna.csv").write_text("x")
    for number in (1, 2, 3, 4, 5):
        (corral.folder / f"games/2023-24/{number}.json").unlink()
    (corral.folder / "games/2024-25/7.json").write_text('{"cut": ')
    return corral


def _queue(corral: Corral, name: str = "inventory/gaps.json") -> Any:
    return json.loads((corral.folder / name).read_text())


def test_gaps_become_a_queue_file(project: Corral) -> None:
    answer = project.here("queue", "reconcile")
    assert answer.code == 0, answer.err
    queue = _queue(project)
    assert queue["total_tasks"] == len(queue["tasks"]) == 4
    batches = sorted(task["game_ids"] for task in queue["tasks"] if task["source"] == "games")
    assert batches == [[1, 2, 3, 4], [5], [7]]
    lines = answer.out.splitlines()
    columns = "source expected present gaps why absent waiting stuck tasks complete"
    assert " ".join(lines[0].split()) == columns
    assert " ".join(lines[1].split()) == "games 20 14 6 5 missing, 1 corrupt 0 0 0 3 70.0%"
    assert " ".join(lines[2].split()) == "players 2 1 1 1 missing 0 0 0 1 50.0%"
    assert "games    2023-24  10        5        5     0       50.0%" in answer.out
    assert lines[-1] == "wrote 4 tasks to inventory/gaps.json"


def test_a_repeated_reconciliation_writes_the_same_tasks_and_an_import_makes_them_wait(project: Corral) -> None:
    project.here("queue", "reconcile")
    before = _queue(project)["tasks"]
    again = project.here("queue", "reconcile", "--import", "--json")
    assert again.code == 0, again.err
    assert _queue(project)["tasks"] == before
    assert again.json["import"]["imported"] == 4
    third = project.here("queue", "reconcile", "--import", "--json").json
    assert (third["tasks"], third["waiting"], third["gaps"]) == (0, 7, 7)


def test_a_dry_run_writes_nothing_and_one_source_may_be_chosen(project: Corral) -> None:
    answer = project.here("queue", "reconcile", "--source", "players", "--dry-run", "--json")
    assert answer.code == 0
    assert [source["source"] for source in answer.json["sources"]] == ["players"]
    assert [task["player"] for task in answer.json["queue"]["tasks"]] == ["bert"]
    assert not (project.folder / "inventory").exists()
    assert not project.data.exists()


def test_bad_files_and_arguments(project: Corral) -> None:
    assert project.here("queue", "reconcile", "--source", "nobody").code == 2
    missing = project.here("queue", "reconcile", "--inventory", "nowhere.yaml")
    assert missing.code == 78
    assert "there is no data inventory nowhere.yaml" in missing.err
    (project.folder / "bad.yaml").write_text("sources:\n  a: {scraper: 7\n")
    assert project.here("queue", "reconcile", "--inventory", "bad.yaml").code == 78
    (project.folder / "bad.yaml").write_text("sources:\n  a: {scrapper: x}\n  b: {expected: {}}\n")
    bad = project.here("queue", "reconcile", "--inventory", "bad.yaml")
    assert bad.code == 78
    assert bad.err.count("corral: bad.yaml: sources.") >= 6
    assert not (project.folder / "inventory").exists()


def test_a_source_that_cannot_be_read_makes_no_tasks_and_the_others_go_on(project: Corral) -> None:
    """An inventory that is not mounted would otherwise request everything again."""
    (project.folder / "games").rename(project.folder / "unmounted")
    answer = project.here("queue", "reconcile")
    assert answer.code == 3
    assert "games: there is no folder games" in answer.err
    assert {task["source"] for task in _queue(project)["tasks"]} == {"players"}
    (project.folder / "players").rename(project.folder / "too")
    nothing = project.here("queue", "reconcile", "--json")
    assert (nothing.code, nothing.json["completeness"]) == (1, 0.0)


def test_the_settings_name_the_inventory(project: Corral, tmp_path: Path) -> None:
    (project.folder / "config/data_inventory.yaml").rename(project.folder / "other.yaml")
    assert project.here("queue", "reconcile", "--dry-run").code == 78
    assert project.here("queue", "reconcile", "--dry-run", APP_DATA_INVENTORY="other.yaml").code == 0
