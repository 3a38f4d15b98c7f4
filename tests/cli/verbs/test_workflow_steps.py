"""Step kinds and templates of workflows that work with others: scripts, webhooks, the queue, several sites."""

import json
from pathlib import Path
from typing import Any

from tests.cli.command import Corral
from tests.cli.receiver import serve_receiver
from tests.engine.crawl.site import Page, serve_site

_INVENTORY = """
sources:
  games:
    scraper: games_scraper
    expected: {dimensions: {season: [2024-25], game_id: {range: {from: 1, to: 4, pad: 3}}}}
    inventory: {folder: {path: games, pattern: "{season}/{game_id}.json"}}
    batch: {size: 2, of: game_id, as: game_ids}
"""
_SCRAPER = """
import argparse, json, pathlib

parser = argparse.ArgumentParser()
parser.add_argument("--season")
parser.add_argument("--game-ids")
options = parser.parse_args()
for game_id in options.game_ids.split(","):
    path = pathlib.Path("games") / options.season / f"{game_id}.json"
    path.write_text(json.dumps({"id": game_id}))
    print(json.dumps({"id": game_id}))
"""


def make_project(corral: Corral) -> Path:
    (corral.folder / "config").mkdir()
    (corral.folder / "config/data_inventory.yaml").write_text(_INVENTORY)
    (corral.folder / "scripts").mkdir()
    (corral.folder / "scripts/games_scraper.py").write_text(_SCRAPER)
    games = corral.folder / "games/2024-25"
    games.mkdir(parents=True)
    return games


def results(told: dict[str, Any]) -> dict[str, Any]:
    return {task["key"]: task["result"] for task in told["tasks"]}


def test_gaps_are_found_filled_by_the_queue_and_checked_without_another_node(corral: Corral) -> None:
    games = make_project(corral)
    (games / "001.json").write_text("{}")
    done = corral("workflow", "run", "--template", "reconcile-and-fill", "--json")
    assert done.code == 0, done.err
    assert sorted(path.stem for path in games.iterdir()) == ["001", "002", "003", "004"]
    found = results(done.json)
    assert (found["reconcile"]["gaps"], found["check"]["gaps"], found["check"]["completeness"]) == (3, 0, 100.0)
    bad = corral.here("workflow", "run", "--template", "reconcile-and-fill", "-p", "sources=games,nothing")
    assert (bad.code, "Find gaps: there is no source 'nothing'; the sources are games" in bad.err) == (2, True)


def test_a_script_collects_and_a_webhook_tells_of_it(corral: Corral) -> None:
    make_project(corral)
    with serve_receiver(503) as (url, got):
        params = {"season": "2024-25", "game_ids": ["007", "008"]}
        steps = [
            {"key": "collect", "kind": "script", "config": {"scraper": "games_scraper", "params": params}},
            {
                "key": "tell",
                "kind": "webhook",
                "depends_on": ["collect"],
                "config": {"url": url, "body": {"count": "${steps.collect.output.record_count}"}},
            },
        ]
        (corral.folder / "tell.json").write_text(json.dumps({"name": "tell", "steps": steps}))
        done = corral("workflow", "run", "tell.json", "--json")
    assert done.code == 0, done.err
    assert results(done.json)["collect"]["records"] == [{"id": "007"}, {"id": "008"}]
    assert [json.loads(body) for _, body in got] == [{"count": 2}] * 2, "503 is retried"
    assert results(done.json)["tell"]["status"] == 200
    assert done.json["tasks"][1]["retry_count"] == 1


def test_many_sites_are_crawled_at_once_and_written_to_one_file(corral: Corral) -> None:
    with serve_site({"/": Page(["/a"]), "/a": Page(text="a")}) as first, serve_site({"/": Page(text="two")}) as second:
        sites = json.dumps([f"{first.url}/", f"{second.url}/"])
        done = corral("workflow", "run", "--template", "many-sites", "-p", f"sites={sites}", "--json")
    assert done.code == 0, done.err
    written = Path(results(done.json)["export"]["path"]).read_text().splitlines()
    assert len(written) == results(done.json)["export"]["records"] == 3
