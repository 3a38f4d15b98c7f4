"""Ordinary scrapers, unmodified: their records, what they request, and the class of their failures."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from corral.domain.ports.execution import RunKind
from corral.domain.runs.outcome import Failed, Fetched, Outcome
from corral.domain.scripts.limits import ScriptLimits
from corral.engine.worker.attempt import perform
from corral.wiring.worker import worker_kinds
from corral.wiring.worker_config import WorkerConfig
from tests.chaos.level import LEVEL
from tests.fetch.certificates import authority, certificate
from tests.scripts.builders import processes_of, script_task

SAMPLES = Path(__file__).parent / "samples"
# With the module that a sample needs.
SCRAPERS: dict[str, str | None] = {
    "with_requests.py": "requests",
    "with_httpx.py": "httpx",
    "with_curl.sh": None,
    "with_node.mjs": None,
    "with_aiohttp.py": "aiohttp",
    "with_scrapy.py": "scrapy",
    "with_crawlee.py": "crawlee",
    "with_playwright.py": "playwright",
}
ESSENTIAL = ("with_httpx.py", "with_curl.sh", "with_node.mjs")
ROWS = [{"game": number, "title": f"Spiel {number} ü"} for number in range(3)]


class Site(ThreadingHTTPServer):
    """`/games/N` is a row; `/limited/N` answers 429, `/blocked/N` 403."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        assert isinstance(self.server, Site)
        self.server.requests.append(self.path)
        kind, _, number = self.path.strip("/").partition("/")
        status = {"games": 200, "limited": 429, "blocked": 403}.get(kind, 404)
        body = json.dumps(ROWS[int(number)] if status == 200 else {}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    server = Site()
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
async def kinds(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[dict[str, RunKind]]:
    for name in ("NO_PROXY", "no_proxy", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    config = WorkerConfig(["127.0.0.0/8:*"], "Corral", 2**20, 1)
    async with worker_kinds(config) as opened:
        yield opened


def command_of(sample: str, python: str) -> list[str]:
    path = str(SAMPLES / sample)
    if sample.endswith(".py"):
        return [python, path]
    return ["node", path] if sample.endswith(".mjs") else [path]


def find_python(module: str | None) -> str:
    """An interpreter that has the module: this one, or the one that CORRAL_PEERS_PYTHON names."""
    pythons = [sys.executable, os.environ.get("CORRAL_PEERS_PYTHON", sys.executable)]
    for python in pythons:
        command = [python, "-c", f"import {module or 'sys'}"]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip(f"{module} is not installed (make setup-bench)")


async def execute(kinds: dict[str, RunKind], sample: str, url: str, cwd: Path) -> Outcome:
    if sample.endswith(".mjs") and shutil.which("node") is None:
        pytest.skip("node is not installed")
    command = command_of(sample, find_python(SCRAPERS[sample]))
    task = script_task(*command, "--url", url, cwd=cwd, timeout_s=60, limits=ScriptLimits())
    outcome = await perform(task, kinds)
    assert processes_of(task.run_id) == []
    return outcome


CHOSEN = [each for each in SCRAPERS if LEVEL or each in ESSENTIAL]


@pytest.mark.parametrize("sample", CHOSEN)
async def test_records_and_requests(kinds: dict[str, RunKind], site: Site, sample: str, tmp_path: Path) -> None:
    outcome = await execute(kinds, sample, f"{site.url}/games", tmp_path)
    assert isinstance(outcome, Fetched), outcome
    assert outcome.problems is None
    assert sorted(outcome.records, key=lambda row: row["game"]) == ROWS
    rows = [path for path in site.requests if path.startswith("/games/")]
    assert sorted(rows) == ["/games/0", "/games/1", "/games/2"], "nothing is requested twice"
    [tally] = outcome.stats["wire"].values()
    assert tally["requests"] == len(site.requests)
    assert tally["statuses"]["200"] == 3


@pytest.mark.parametrize("kind, code", [("limited", "rate_limited:http_429"), ("blocked", "blocked:http_403")])
@pytest.mark.parametrize("sample", CHOSEN)
async def test_failures_are_classified(  # noqa: PLR0917 - fixtures and parameters
    kinds: dict[str, RunKind], site: Site, sample: str, kind: str, code: str, tmp_path: Path
) -> None:
    outcome = await execute(kinds, sample, f"{site.url}/{kind}", tmp_path)
    assert isinstance(outcome, Failed), outcome
    assert f"{outcome.code.value}:{outcome.detail}" == code, outcome.message


@pytest.mark.parametrize("sample", CHOSEN)
async def test_a_site_that_is_down(kinds: dict[str, RunKind], site: Site, sample: str, tmp_path: Path) -> None:
    url = site.url
    site.shutdown()
    site.server_close()
    outcome = await execute(kinds, sample, f"{url}/games", tmp_path)
    assert isinstance(outcome, Failed), outcome
    assert outcome.code.value == "network", outcome.message


NODE_CLIENTS = """
import http from "node:http";
import https from "node:https";
const url = process.argv[2];
const client = url.startsWith("https") ? https : http;
const read = (answer) => new Promise((done) => answer.resume().on("end", done));
await (await fetch(`${url}/games/0`)).text();
await new Promise((done, fail) => client.get(`${url}/games/1`, (answer) => read(answer).then(done)).on("error", fail));
console.log(JSON.stringify({done: true}));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_every_client_of_node_uses_the_proxy(
    kinds: dict[str, RunKind], site: Site, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scheme == "https":
        ca = authority()
        (tmp_path / "ca.pem").write_text(ca.pem)
        monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(tmp_path / "ca.pem"))
        context = certificate(ca).context(tmp_path, "site")
        site.socket = context.wrap_socket(site.socket, server_side=True)
    script = tmp_path / "clients.mjs"
    script.write_text(NODE_CLIENTS)
    url = f"{scheme}://127.0.0.1:{site.server_port}"
    outcome = await perform(script_task("node", str(script), url, cwd=tmp_path, limits=ScriptLimits()), kinds)
    assert isinstance(outcome, Fetched), outcome
    assert (list(outcome.records), sorted(site.requests)) == ([{"done": True}], ["/games/0", "/games/1"])
    [tally] = outcome.stats["wire"].values()
    assert (tally["requests"], tally.get("tunnels", 0)) == (2, 2 if scheme == "https" else 0)
