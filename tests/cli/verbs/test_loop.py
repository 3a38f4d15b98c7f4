"""`corral loop`: a running Corral closes the gaps by itself, and goes idle."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Corral
from tests.slack import SLACK

_INVENTORY = """
sources:
  games:
    scraper: games_scraper
    expected: {dimensions: {game_id: {range: {from: 1, to: 12, pad: 3}}}}
    inventory: {folder: {path: games, pattern: "{game_id}.json"}}
    rules: {format: json}
    batch: {size: 4, of: game_id, as: game_ids}
    absence: {confirmations: 1}
"""
_SCRAPER = """
import json, os, pathlib, sys

ids = sys.argv[sys.argv.index("--game-ids") + 1].split(",")
with os.fdopen(int(os.environ["CORRAL_RESULT_FD"]), "w") as result, open("requests.txt", "a") as log:
    for game_id in ids:
        log.write(game_id + "\\n")
        if game_id == "012":
            result.write(json.dumps({"absent": {"key": game_id, "status": 404}}) + "\\n")
        else:
            (pathlib.Path("games") / f"{game_id}.json").write_text("{}")
    result.write(json.dumps({"done": {"records": 0}}) + "\\n")
"""


@pytest.fixture
def project(corral: Corral) -> Corral:
    (corral.folder / "config").mkdir()
    (corral.folder / "config/data_inventory.yaml").write_text(_INVENTORY)
    (corral.folder / "scripts").mkdir()
    (corral.folder / "scripts/games_scraper.py").write_text(_SCRAPER)
    (corral.folder / "games").mkdir()
    for number in (1, 2, 3):
        (corral.folder / f"games/{number:03}.json").write_text("{}")
    return corral


def _requests(project: Corral) -> list[str]:
    path: Path = project.folder / "requests.txt"
    return sorted(path.read_text().split()) if path.exists() else []


def _wait_until_idle(project: Corral) -> Any:
    ends = time.monotonic() + 60 * SLACK
    while True:
        status = json.loads(project.here("loop", "status", "--json").out)
        if status["state"] == "idle":
            return status
        assert time.monotonic() < ends, status
        time.sleep(0.2)


def test_the_loop_closes_the_gaps_of_a_running_corral_and_goes_idle(project: Corral) -> None:
    project.create()
    started = project.here("loop", "start", "--every", "30", "--json")
    assert started.code == 0, started.err
    assert "no running node" in started.err
    assert project.here("loop", "status", "--json").code == 1, "no node executes it"
    process = project.start_fork("up", "--port", "0")
    try:
        status = _wait_until_idle(project)
        assert status["last"]["completeness"] == 100.0
        assert status["last"]["absent"] == 1
        assert _requests(project) == [f"{number:03}" for number in range(4, 13)]
        assert project.here("loop", "stop", "--json").json["state"] == "off"
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_one_cycle_by_hand(project: Corral) -> None:
    answer = project("loop", "run-once")
    assert answer.code == 0, answer.err
    assert len(_requests(project)) == 9
    again = project("loop", "run-once")
    assert again.out.strip() == "nothing is missing that could be collected"
    assert len(_requests(project)) == 9


def test_bad_arguments_start_nothing(project: Corral) -> None:
    assert project.here("loop", "start", "--window", "noon").code == 2
    (project.folder / "config/data_inventory.yaml").write_text("sources: 1")
    assert project.here("loop", "start").code == 78
    assert project.here("loop", "status", "--json").json["state"] == "off"
