"""Canaries planted wherever a secret may be; every way a run can end is gone; then everything written is searched.

The target URL of a job is data: it stays in the job, in its runs and in what the API says of them, and nowhere else.
"""

import base64
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest

from tests.services import PostgresCluster
from tests.stack import Stack, corral_up, demo_site

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

# Where the address of a job may stand.
DATA_COLUMNS = {("jobs", "document"), ("runs", "payload")}


def canary(kind: str) -> str:
    return f"canary-{kind}-{secrets.token_hex(8)}"


@dataclass
class Planted:
    hidden: dict[str, str] = field(default_factory=dict)  # must be nowhere
    in_urls: dict[str, str] = field(default_factory=dict)  # may stand in the job's address

    def secret(self, kind: str, value: str | None = None) -> str:
        self.hidden[kind] = value or canary(kind)
        return self.hidden[kind]

    def in_url(self, kind: str) -> str:
        self.in_urls[kind] = canary(kind)
        return self.in_urls[kind]

    def found_in(self, text: str | bytes, *, urls: bool = True) -> list[str]:
        wanted = {**self.hidden, **(self.in_urls if urls else {})}
        data = text.encode() if isinstance(text, str) else text
        return [kind for kind, value in wanted.items() if value.encode() in data]


class Watcher(threading.Thread):
    """Arguments and environments of every process that is started, while it lives."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self.done = threading.Event()
        self.seen: set[str] = set()

    def run(self) -> None:
        while not self.done.wait(0.05):
            try:
                below = psutil.Process(self._pid).children(recursive=True)
            except psutil.Error:
                return
            for process in below:
                for name in ("cmdline", "environ"):
                    try:
                        self.seen.add(Path(f"/proc/{process.pid}/{name}").read_bytes().decode("utf-8", "replace"))
                    except OSError:
                        continue


@pytest.fixture(params=["sqlite", "postgres"] if os.environ.get("CORRAL_CHAOS") else ["sqlite"])
def planted(request: pytest.FixtureRequest) -> tuple[Planted, dict[str, str]]:
    found = Planted()
    settings = {
        "APP_VAULT_KEY": found.secret("vault_key", base64.b64encode(os.urandom(32)).decode()),
        "APP_READ_TOKEN": found.secret("read_token"),
        "APP_WRITE_TOKEN": found.secret("write_token"),
        "APP_REDIS_URL": f"redis://:{found.secret('redis_password')}@127.0.0.1:6379/0",
        "APP_CELERY_BROKER_URL": f"redis://u:{found.secret('broker_password')}@127.0.0.1:6379/1",
        "APP_LOG_LEVEL": "debug",
        "APP_WORKERS": "2",
        "APP_HTTP_TIMEOUT_SECONDS": "2",
    }
    if request.param == "postgres":
        cluster: PostgresCluster = request.getfixturevalue("postgres")
        url = cluster.create_database()
        user, at, rest = url.partition("@")
        password = found.secret("database_password")
        assert at
        settings["APP_DATABASE_URL"] = f"{user.split(':')[0]}:{user.split(':')[1]}:{password}@{rest}"
    return found, settings


@pytest.fixture
def site() -> Iterator[str]:
    with demo_site() as url:
        yield url


def test_no_planted_secret_is_found_anywhere(
    planted: tuple[Planted, dict[str, str]], site: str, tmp_path: Path
) -> None:
    canaries, settings = planted
    bodies: list[str] = []
    with corral_up(tmp_path, site, **settings) as stack:
        stack.client.event_hooks["response"].append(lambda answer: bodies.append(_told(answer)))
        watcher = Watcher(stack.process.pid)
        watcher.start()
        _logins(stack, canaries)
        _addresses(stack, canaries)
        _proxies(stack, canaries)
        _refusals(stack, canaries)
        said = _terminal(stack, canaries, tmp_path)
        _killed_worker(stack)
        _everything_read(stack)
        watcher.done.set()
        watcher.join()
        rows = _rows(stack, settings)
    assert len(canaries.hidden) + len(canaries.in_urls) >= 20

    assert len(watcher.seen) > 5
    assert set(canaries.in_urls) <= set(canaries.found_in(rows["runs", "payload"])), "the search does not find"
    hits = {"processes": canaries.found_in("\n".join(watcher.seen))}
    hits["log"] = canaries.found_in(stack.log.read_bytes())
    hits["terminal"] = canaries.found_in(said)
    hits["api"] = canaries.found_in("\n".join(bodies), urls=False)
    for (table, column), text in rows.items():
        hits[f"{table}.{column}"] = canaries.found_in(text, urls=(table, column) not in DATA_COLUMNS)
    for path in (path for path in stack.data_dir.rglob("*") if path.is_file()):
        hits[str(path)] = canaries.found_in(path.read_bytes(), urls=False)
    assert {place: found for place, found in hits.items() if found} == {}


def _told(answer: httpx.Response) -> str:
    answer.read()
    return f"{answer.headers} {answer.text}"


def _job(stack: Stack, path: str, **more: Any) -> dict[str, Any]:
    return stack.job(path, max_attempts=1, **more)


def _logins(stack: Stack, canaries: Planted) -> None:
    """A run without a session, with a dead one, with a living one; checked and rotated between."""
    job = _job(stack, f"/account?token={canaries.in_url('token_in_url')}", requires_auth=True, strategy="auto")
    run = stack.start(job)
    stack.until(run["id"], "waiting_for_human")
    dead = {
        "job_id": job["id"],
        "cookies": [{"name": "demo_session", "value": canaries.secret("dead_cookie")}],
        "storage": {stack.site: {"token": canaries.secret("stored_value")}},
        "headers": {"Authorization": f"Bearer {canaries.secret('session_header')}"},
    }
    posted = stack.client.post("/jobs/sessions", json=dead, headers={"Idempotency-Key": "hunt"})
    posted.raise_for_status()
    stack.client.post(f"/jobs/sessions/{posted.json()['id']}/validate").raise_for_status()
    [waiting] = stack.client.get("/interventions?status=open").json()
    stack.client.post(f"/interventions/{waiting['id']}/resolve").raise_for_status()
    stack.until(run["id"], "waiting_for_human")
    alive = httpx.post(f"{stack.site}/login", data={"username": "demo", "password": "demo"})
    cookies = [
        {"name": "demo_session", "value": canaries.secret("live_cookie", alive.cookies["demo_session"])},
        {"name": "other", "value": canaries.secret("other_cookie"), "domain": ".example.test", "secure": True},
    ]
    [waiting] = stack.client.get("/interventions?status=open").json()
    resolved = stack.client.post(f"/interventions/{waiting['id']}/resolve", json={"session": {"cookies": cookies}})
    resolved.raise_for_status()
    assert stack.ended(run["id"])["status"] == "completed"


def _addresses(stack: Stack, canaries: Planted) -> None:
    """Every way a fetch ends, with a secret in its address."""
    ends = {
        f"/articles?access_token={canaries.in_url('good_page')}": "completed",
        f"/missing?sig={canaries.in_url('missing_page')}": "failed",
        f"/redirect-loop?api_key={canaries.in_url('redirect_loop')}": "failed",
        f"/reset?session={canaries.in_url('reset')}": "failed",
        f"/blocked?auth={canaries.in_url('blocked_page')}": "failed",
        f"/slow?seconds=5&password={canaries.in_url('slow_page')}": "failed",
        f"/large?bytes=99999999&X-Amz-Signature={canaries.in_url('large_page')}": "failed",
        f"/private/secret?token={canaries.in_url('robots')}": "failed",
    }
    runs = [(stack.start(_job(stack, path)), status) for path, status in ends.items()]
    by_browser = _job(stack, f"/gone?secret={canaries.in_url('gone_in_browser')}", strategy="browser")
    runs.append((stack.start(by_browser), "failed"))
    for run, status in runs:
        assert stack.ended(run["id"])["status"] == status, run["target_url"]


def _proxies(stack: Stack, canaries: Planted) -> None:
    """A proxy that cannot be used (the site is none), by each way of fetching; set, changed, cloned, tried again."""
    site = stack.site.removeprefix("http://")
    for strategy in ("http", "browser"):
        known_by = f"{canaries.secret(f'proxy_user_{strategy}')}:{canaries.secret(f'proxy_password_{strategy}')}"
        job = _job(stack, "/articles", strategy=strategy, proxy_policy=f"http://{known_by}@{site}")
        run = stack.ended(stack.start(job)["id"])
        assert (run["failure_code"], run["failure_detail"]) == ("network", "proxy")
        stack.ended(stack.client.post(f"/jobs/runs/{run['id']}/retry").json()["id"])
        stack.client.post(f"/jobs/{job['id']}/clone").raise_for_status()
        changed = f"socks5://user:{canaries.secret(f'changed_proxy_{strategy}')}@{site}"
        stack.client.patch(f"/jobs/{job['id']}", json={"proxy_policy": changed}).raise_for_status()
    refused = f"ftp://user:{canaries.secret('refused_proxy')}@{site}"
    body = {"target_url": f"{stack.site}/articles", "fields": ["title"], "proxy_policy": refused}
    assert stack.client.post("/jobs", json=body).status_code == 422


def _refusals(stack: Stack, canaries: Planted) -> None:
    """What the API refuses it does not repeat."""
    job = _job(stack, "/articles")
    bad_cookie = {"name": "a", "value": canaries.secret("refused_cookie") + "\n"}
    for body in (
        {"job_id": job["id"], "cookies": [bad_cookie]},
        {"job_id": job["id"], "cookies": [{"name": "a", "value": [canaries.secret("mistyped_cookie")]}]},
        {"job_id": job["id"], "headers": {"Cookie": canaries.secret("refused_header")}},
    ):
        assert stack.client.post("/jobs/sessions", json=body).status_code == 422
    target = stack.site.replace("//", f"//user:{canaries.secret('userinfo')}@")
    assert stack.client.post("/jobs", json={"target_url": target, "fields": ["title"]}).status_code == 422
    bearer = {"Authorization": f"Bearer {canaries.secret('wrong_token')}"}
    assert stack.client.get("/jobs", headers=bearer).status_code == 401
    assert stack.client.get(f"/jobs?cursor={canaries.secret('bad_cursor')}").status_code == 422


def _terminal(stack: Stack, canaries: Planted, folder: Path) -> str:
    """The same at the command line: what it prints, and the arguments of what it starts."""
    job = _job(stack, "/account", requires_auth=True, strategy="auto")
    (folder / "password").write_text(canaries.secret("wrong_password"))
    (folder / "cookie").write_text(canaries.secret("cookie_from_file"))
    form = ["--login-url", f"{stack.site}/login", "--fill", "user=demo", "--fill", "password=@password"]
    scraped = f"{stack.site}/missing?token={canaries.in_url('scraped')}"
    known_by = f"user:{canaries.secret('proxy_in_a_file')}"
    (folder / "proxy").write_text(f"http://{known_by}@{stack.site.removeprefix('http://')}")
    said = ""
    for arguments, code in (
        (["session", "capture", job["id"], *form], 1),
        (["session", "add", job["id"], "--cookie", "demo_session=@cookie", "--json"], 0),
        (["session", "rotate", "--json"], 0),
        (["session", "list"], 0),
        (["scrape", scraped, "--fields", "title"], 1),
        (["scrape", scraped, "--fields", "title", "--proxy", "@proxy", "--max-attempts", "1"], 1),
    ):
        process = subprocess.Popen(
            [sys.executable, "-m", "corral", *arguments],
            env=stack.environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        watcher = Watcher(process.pid)
        watcher.start()
        output, _ = process.communicate(timeout=60)
        watcher.done.set()
        assert process.returncode == code, output
        said += output + "\n".join(watcher.seen)
    return said


def _killed_worker(stack: Stack) -> None:
    run = stack.start(_job(stack, "/slow?seconds=1", timeout_s=10))
    stack.until(run["id"], "running")
    workers = [each for each in psutil.Process(stack.process.pid).children() if "corral.child" in each.cmdline()]
    for worker in workers:
        worker.send_signal(signal.SIGKILL)
    stack.ended(run["id"])
    time.sleep(0.2)


def _everything_read(stack: Stack) -> None:
    for path in ("/jobs", "/jobs/sessions", "/interventions", "/jobs/records", "/health", "/metrics", "/"):
        assert stack.client.get(path).status_code == 200
    for run in stack.client.get("/jobs/runs?limit=200").json():
        events = stack.client.get(f"/jobs/runs/{run['id']}/events?limit=1000").json()
        assert events


def _rows(stack: Stack, settings: dict[str, str]) -> dict[tuple[str, str], str]:
    """Every column of every table, as text."""
    url = settings.get("APP_DATABASE_URL")
    if url is None:
        with sqlite3.connect(f"file:{stack.data_dir}/corral.db?mode=ro", uri=True) as database:
            names = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
            tables = {name: database.execute(f"SELECT * FROM {name}") for (name,) in names}
            return _by_column({name: (cursor.description, cursor.fetchall()) for name, cursor in tables.items()})
    with psycopg.connect(url) as connection:
        listed = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        found = {}
        for (name,) in listed:
            cursor = connection.execute(f"SELECT * FROM {name}".encode())
            found[name] = (cursor.description, cursor.fetchall())
        return _by_column(found)


def _by_column(found: dict[str, tuple[Any, list[Any]]]) -> dict[tuple[str, str], str]:
    return {
        (table, column[0]): "\n".join(str(row[place]) for row in rows)
        for table, (columns, rows) in found.items()
        for place, column in enumerate(columns)
    }
