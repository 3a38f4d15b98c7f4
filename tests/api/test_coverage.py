"""Reconciliation over HTTP: a run that compares, and the report it leaves."""

import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.stack import Stack

_INVENTORY = """
sources:
  games:
    scraper: games_scraper
    expected: {dimensions: {season: [2023-24, 2024-25], game_id: {range: {from: 1, to: 10}}}}
    inventory: {folder: {path: FOLDER, pattern: "{season}/{game_id}.json"}}
    rules: {format: json}
    batch: {size: 4, of: game_id, as: game_ids}
  collected:
    scraper: games_scraper
    expected: {keys: [1, 2], dimension: n}
    inventory: {records: {job: 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b, fields: {n: n}}}
  unmounted:
    scraper: games_scraper
    expected: {keys: [1]}
    inventory: {folder: {path: /nowhere/at/all, pattern: "{key}"}}
"""


@pytest.fixture
def inventory(stack: Stack, tmp_path: Path) -> Path:
    """The data inventory of the running installation."""
    for season in ("2023-24", "2024-25"):
        (tmp_path / season).mkdir()
        for number in range(1, 11):
            (tmp_path / season / f"{number}.json").write_text("{}" if number > 3 else '{"cut')
    path = stack.data_dir.parent / "config/data_inventory.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(_INVENTORY.replace("FOLDER", str(tmp_path)))
    return path


def _wait(client: httpx.Client, run: dict[str, Any]) -> dict[str, Any]:
    ends = time.monotonic() + 60
    while run["status"] not in {"completed", "partial", "failed"}:
        assert time.monotonic() < ends, run
        time.sleep(0.05)
        run = client.get(f"/jobs/runs/{run['id']}").json()
    return run


def test_a_reconciliation_is_a_run_with_a_report(stack: Stack, inventory: Path) -> None:
    with httpx.Client(base_url=stack.url, timeout=30) as client:
        answer = client.post("/queue/reconcile", json={"sources": ["games", "collected"]})
        assert answer.status_code == 200, answer.text
        run = _wait(client, answer.json())
        assert (run["kind"], run["status"]) == ("reconcile", "completed"), run
        assert run["progress"] == {"total": 2, "done": 2, "failed": 0, "skipped": 0, "percent": 100.0, "eta_s": None}
        assert run["stats"]["import"]["imported"] == 4
        report = client.get("/coverage").json()
        assert report["run_id"] == run["id"]
        assert report == client.get("/coverage", params={"run_id": run["id"]}).json()
        games, collected = report["sources"]
        assert (games["expected"], games["present"], games["by_type"]) == (20, 14, {"corrupt": 6})
        assert (collected["completeness"], collected["gaps"]) == (0.0, 2)
        again = _wait(client, client.post("/queue/reconcile", json={"sources": ["games"]}).json())
        # The node has executed the tasks meanwhile, or not: their scraper does not exist.
        assert (again["stats"]["tasks"], again["stats"]["waiting"]) in {(0, 6), (2, 0)}


def test_a_source_that_cannot_be_read_makes_the_run_partial(stack: Stack, inventory: Path) -> None:
    with httpx.Client(base_url=stack.url, timeout=30) as client:
        run = _wait(client, client.post("/queue/reconcile", json={"import": False}).json())
        assert run["status"] == "partial", run
        assert "import" not in run["stats"]
        assert "no folder /nowhere/at/all" in client.get("/coverage").json()["problems"][0]


def test_bad_requests_and_bad_files(stack: Stack, inventory: Path) -> None:
    with httpx.Client(base_url=stack.url, timeout=30) as client:
        unknown = client.post("/queue/reconcile", json={"sources": ["nothing"]})
        assert unknown.status_code == 422
        assert "the sources are games, collected, unmounted" in unknown.json()["error"]["hint"]
        assert client.post("/queue/reconcile", json={"path": "/etc/passwd"}).status_code == 422
        assert client.get("/coverage", params={"run_id": "0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b"}).status_code == 404
        inventory.write_text("sources: {a: {scrapper: x}}")
        bad = client.post("/queue/reconcile")
        assert (bad.status_code, bad.json()["error"]["code"]) == (422, "bad_inventory")
        assert "did you mean scraper?" in bad.json()["error"]["message"]
        key = {"Idempotency-Key": "once"}
        inventory.write_text(_INVENTORY.replace("FOLDER", "/tmp"))
        ids = {client.post("/queue/reconcile", headers=key).json()["id"] for _ in range(2)}
        assert len(ids) == 1
