"""From a data inventory to closed gaps, with a script that knows nothing of Corral but where to write."""

import json
import textwrap
from typing import Any

import pytest

from tests.cli.command import Corral

_INVENTORY = """
sources:
  games:
    scraper: games_scraper
    expected: {dimensions: {season: [2023-24, 2024-25], game_id: {range: {from: 1, to: 5, pad: 3}}}}
    inventory: {folder: {path: games, pattern: "{season}/{game_id}.json"}}
    rules: {format: json}
    batch: {size: 3, of: game_id, as: game_ids}
    absence: {confirmations: 2}
"""
_SCRAPER = """
import argparse, json, os, pathlib

parser = argparse.ArgumentParser()
parser.add_argument("--season")
parser.add_argument("--game-ids")
options = parser.parse_args()
with os.fdopen(int(os.environ["CORRAL_RESULT_FD"]), "w") as result:
    for game_id in options.game_ids.split(","):
        if game_id == "005":
            result.write(json.dumps({"absent": {"key": game_id, "status": 404}}) + "\\n")
            continue
        path = pathlib.Path("games") / options.season / f"{game_id}.json"
        path.write_text(json.dumps({"id": game_id}))
    result.write(json.dumps({"done": {"records": 0}}) + "\\n")
"""


@pytest.fixture
def project(corral: Corral) -> Corral:
    (corral.folder / "config").mkdir()
    (corral.folder / "config/data_inventory.yaml").write_text(_INVENTORY)
    (corral.folder / "scripts/scrapers").mkdir(parents=True)
    (corral.folder / "scripts/scrapers/games_scraper.py").write_text(textwrap.dedent(_SCRAPER))
    for season in ("2023-24", "2024-25"):
        (corral.folder / "games" / season).mkdir(parents=True)
        (corral.folder / "games" / season / "001.json").write_text("{}")
    return corral


def _queue(project: Corral) -> Any:
    return json.loads((project.folder / "inventory/gaps.json").read_text())


def test_gaps_are_closed_and_what_is_gone_is_not_requested_for_ever(project: Corral) -> None:
    assert project("queue", "reconcile").code == 0
    assert _queue(project)["total_tasks"] == 4
    first = project("queue", "run", "--json")
    assert first.code == 0, first.err
    assert first.json["completed"] == 4
    assert (first.json["coverage"]["gaps"], first.json["coverage"]["absent"]) == (2, 0)
    assert [task["game_ids"] for task in _queue(project)["tasks"]] == [["005"], ["005"]]
    second = project("queue", "run")
    assert second.code == 0, second.err
    assert "Reconciliation:" in second.out
    assert _queue(project)["tasks"] == []
    last = project("queue", "reconcile", "--json").json
    assert (last["completeness"], last["absent"], last["gaps"]) == (100.0, 2, 0)


def test_no_reconciliation_leaves_the_queue_file_alone(project: Corral) -> None:
    project("queue", "reconcile")
    before = _queue(project)
    answer = project("queue", "run", "--no-reconciliation", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["coverage"] is None
    assert _queue(project) == before
    again = project("queue", "run", "--json")
    assert (again.json["already_ended"], again.json["coverage"]) == (4, None)  # nothing completed in this run
