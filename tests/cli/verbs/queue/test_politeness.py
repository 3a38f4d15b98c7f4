"""Unmodified scripts request through Corral: host limits, egress rules, and failures by what happened on the wire."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.command import Corral
from tests.cli.verbs.queue.project import Project

_SCRIPT = """
import argparse, json, urllib.request
parser = argparse.ArgumentParser()
parser.add_argument("--url")
parser.add_argument("--times", type=int, default=1)
options = parser.parse_args()
for _ in range(options.times):
    print(json.dumps({"status": urllib.request.urlopen(options.url).status}))
"""
_ALLOWED = {"APP_EGRESS_ALLOW": "127.0.0.0/8:*"}


@dataclass
class Site:
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)
    now: int = 0
    most: int = 0


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with site.lock:
                site.now += 1
                site.most = max(site.most, site.now)
            time.sleep(0.05)
            with site.lock:
                site.now -= 1
            self.send_response(int(self.path[1:]))
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    yield site
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    (tmp_path / "scripts/etl/requests_scraper.py").write_text(_SCRIPT)
    (tmp_path / "scripts/etl/requests_scraper.py").chmod(0o644)
    project.configure("scrapers:\n  requests_scraper: {retry: 1}\n")
    return project


def _task(number: int, url: str, times: int = 1) -> dict[str, object]:
    about = {"id": f"task_{number}", "priority": "HIGH", "scraper": "requests_scraper"}
    return {**about, "url": url, "times": times}


@pytest.mark.parametrize(
    "status, reason", [(429, "rate_limited:http_429"), (403, "blocked:http_403"), (503, "bad_response:http_503")]
)
def test_a_failure_is_named_by_what_the_site_answered(project: Project, site: Site, status: int, reason: str) -> None:
    corral = Corral(project.folder)
    project.write_queue(_task(1, f"{site.url}/{status}"))
    assert corral("queue", "run", **_ALLOWED).code == 1
    [dead] = corral("queue", "dead", "--json").json
    assert dead["reason"].startswith(reason)
    assert f"HTTP Error {status}" in dead["reason"]
    run = corral("run", "show", dead["run_id"], "--json").json
    [(host, wire)] = run["stats"]["wire"].items()
    assert (host, wire["requests"], wire["statuses"]) == (site.url.removeprefix("http://"), 1, {str(status): 1})


def test_scripts_of_one_host_share_its_limit(project: Project, site: Site) -> None:
    corral = Corral(project.folder)
    project.write_queue(*(_task(number, f"{site.url}/200", times=3) for number in range(4)))
    answer = corral("queue", "run", "--max-concurrent", "4", "--json", **_ALLOWED, APP_HOST_CONCURRENCY="1")
    assert (answer.code, answer.json["completed"]) == (0, 4)
    assert site.most == 1


def test_a_private_address_is_refused_unless_it_is_allowed(project: Project, site: Site) -> None:
    corral = Corral(project.folder)
    project.write_queue(_task(1, f"{site.url}/200"))
    assert corral("queue", "run").code == 1
    [dead] = corral("queue", "dead", "--json").json
    assert dead["reason"].startswith("policy:egress")
    assert "APP_EGRESS_ALLOW" in dead["reason"]


def test_a_scraper_may_opt_out_of_the_proxy(project: Project, site: Site) -> None:
    project.configure("scrapers:\n  requests_scraper: {use_proxy: false}\n")
    corral = Corral(project.folder)
    project.write_queue(_task(1, f"{site.url}/200"))
    assert corral("queue", "run").code == 0
    [task] = corral("queue", "list", "--json").json
    assert "wire" not in corral("run", "show", task["run_id"], "--json").json["stats"]
