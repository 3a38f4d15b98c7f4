"""The loop closes every gap that can be closed, while Corral is killed again and again, and then goes idle."""

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.chaos.level import by_level, make_random
from tests.chaos.report import report
from tests.slack import SLACK
from tests.stack import Stack, corral_up

KEYS = by_level(400, 10_000)
KILLS = by_level(2, 10)
# A task that is killed requests its batch again.
_BATCH = 3
# Contiguous keys that a missed window of collection leaves out.
_WINDOWS, _WINDOW = 3, by_level(4, 40)
_GOOD = '{"points": 101}'
_SCRIPT = """
import argparse, json, os, pathlib, time, urllib.error, urllib.request
parser = argparse.ArgumentParser()
parser.add_argument("--base")
parser.add_argument("--game-ids")
options = parser.parse_args()
result = os.fdopen(3, "w")
count = 0
for game in options.game_ids.split(","):
    try:
        body = urllib.request.urlopen(f"{options.base}/{game}").read()
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        print(json.dumps({"absent": {"key": game, "status": 404}}), file=result)
        continue
    path = pathlib.Path("data") / f"{game}.json"
    path.with_suffix(".part").write_bytes(body)
    path.with_suffix(".part").rename(path)
    print(json.dumps({"record": {"game": game}}), file=result)
    count += 1
print(json.dumps({"done": {"records": count}}), file=result)
"""


class Site:
    """Serves every key but those that are gone, and counts."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.gone: set[str] = set()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                key = self.path[1:]
                site.requests[key] += 1
                time.sleep(0.01)
                with contextlib.suppress(ConnectionError):  # its client was killed
                    self.send_response(404 if key in site.gone else 200)
                    self.end_headers()
                    self.wfile.write(_GOOD.encode())

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    thread = threading.Thread(target=site.server.serve_forever)
    thread.start()
    yield site
    site.server.shutdown()
    thread.join()
    site.server.server_close()


def _write_project(folder: Path, site: Site) -> None:
    for name in ("scripts", "config", "data"):
        (folder / name).mkdir()
    (folder / "scripts/games.py").write_text(_SCRIPT)
    (folder / "scripts/games.py").chmod(0o644)
    (folder / "config/data_inventory.yaml").write_text(
        f"""
sources:
  games:
    scraper: games
    parameters: {{base: "{site.url}"}}
    expected: {{dimensions: {{game_id: {{range: {{from: 1, to: {KEYS}, pad: 6}}}}}}}}
    inventory: {{folder: {{path: data, pattern: "{{game_id}}.json"}}}}
    rules: {{format: json}}
    batch: {{size: {_BATCH}, of: game_id, as: game_ids}}
"""
    )


def _damage(folder: Path, site: Site) -> tuple[set[str], set[str]]:
    """Delete 5 % of the files and three windows, corrupt 2 %, and let 1 % be gone for ever.

    Return the recoverable keys and the healthy ones.
    """
    keys = [f"{number:06}" for number in range(1, KEYS + 1)]
    for key in keys:
        (folder / f"data/{key}.json").write_text(_GOOD)
    random = make_random()
    missed = [keys[start : start + _WINDOW] for start in random.sample(range(0, KEYS, _WINDOW), _WINDOWS)]
    skipped = {key for window in missed for key in window}
    chosen = random.sample([key for key in keys if key not in skipped], KEYS * 8 // 100)
    deleted, corrupt = set(chosen[: KEYS * 5 // 100]), set(chosen[KEYS * 5 // 100 : KEYS * 7 // 100])
    site.gone = set(chosen[KEYS * 7 // 100 :])
    deleted |= skipped
    for key in deleted | site.gone:
        (folder / f"data/{key}.json").unlink()
    for key in corrupt:
        (folder / f"data/{key}.json").write_text('{"points": 1')
    return deleted | corrupt, set(keys) - set(chosen) - skipped


def _wait_for_requests(site: Site, count: int) -> None:
    deadline = time.monotonic() + 60 * SLACK
    while site.requests.total() < count:
        assert time.monotonic() < deadline, f"{site.requests.total()} of {count} requests"
        time.sleep(0.05)


def _wait_until_idle(stack: Stack) -> None:
    deadline = time.monotonic() + by_level(120, 900) * SLACK
    while True:
        loop, tasks = stack.client.get("/loop").json(), stack.client.get("/queue/stats").json()["by_state"]
        if loop["state"] == "idle" and not tasks["ready"] + tasks["started"]:
            return
        assert time.monotonic() < deadline, (loop, tasks)
        time.sleep(0.2)


def test_every_gap_is_closed_while_corral_is_killed_and_healthy_keys_are_left_alone(tmp_path: Path, site: Site) -> None:
    _write_project(tmp_path, site)
    recoverable, healthy = _damage(tmp_path, site)
    settings = {"APP_SCRIPT_CONCURRENCY": "4"}
    gaps = len(recoverable) + len(site.gone)
    for number in range(KILLS):
        with corral_up(tmp_path, site.url, **settings) as stack:
            if number == 0:
                assert stack.client.post("/loop/start", json={"every_minutes": 0.05}).status_code == 200
            _wait_for_requests(site, gaps * (number + 1) // (KILLS + 2))
            os.kill(stack.process.pid, signal.SIGKILL)
    with corral_up(tmp_path, site.url, **settings) as stack:
        _wait_until_idle(stack)
        coverage = stack.client.get("/coverage").json()
        ended = [task for task in stack.client.get("/queue/tasks?limit=200").json() if task["state"] != "completed"]

    assert coverage["completeness"] == 100, (coverage, ended)
    for key in recoverable:
        assert (tmp_path / f"data/{key}.json").read_text() == _GOOD
    again = sum(site.requests[key] for key in healthy)
    assert again <= 0.01 * len(healthy)
    # A key that is gone is asked for until it is confirmed. Among few gaps, what a kill repeats is more than a tenth.
    confirmations = sum(site.requests[key] for key in site.gone)
    repeated = by_level(KILLS * 4 * _BATCH, 0)
    assert site.requests.total() <= 1.1 * (len(recoverable) + confirmations) + repeated
    report(
        f"gaps: {gaps} of {KEYS} keys, killed {KILLS} times: {site.requests.total()} requests"
        f" ({confirmations} for {len(site.gone)} keys that are gone), {again} for healthy keys, idle"
    )
