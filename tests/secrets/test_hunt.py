"""Canaries planted wherever a secret may be; every way a run can end is gone; then everything written is searched.

The target URL of a job is data: it stays in the job, in its runs and in what the API says of them, and nowhere else.
"""

import base64
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests import forked
from tests.chaos.level import by_level
from tests.secrets import terminal, uses
from tests.secrets.confiding import OF_THE_APP, ConfidingSite, confiding_site
from tests.secrets.planted import DATA_COLUMNS, Planted, Spoils, Watcher, is_of_database
from tests.services import PostgresCluster
from tests.stack import Stack, corral_up, demo_site

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(params=["sqlite", "postgres"] if os.environ.get("CORRAL_CHAOS") else ["sqlite"])
def planted(request: pytest.FixtureRequest) -> tuple[Planted, dict[str, str], tuple[Path, ...]]:
    """What is hidden so far, the settings it is in, and where the database lies if not with everything else."""
    found = Planted()
    settings = {
        "APP_VAULT_KEY": found.secret("vault_key", base64.b64encode(os.urandom(32)).decode()),
        "APP_READ_TOKEN": found.secret("read_token"),
        "APP_WRITE_TOKEN": found.secret("write_token"),
        "APP_REDIS_URL": f"redis://:{found.secret('redis_password')}@127.0.0.1:6379/0",
        "APP_HTTP_CACHE": "revalidate",
        "APP_LOG_LEVEL": "debug",
        "APP_WORKERS": str(by_level(1, 2)),
    }
    if request.param == "postgres":
        cluster: PostgresCluster = request.getfixturevalue("postgres")
        url = cluster.create_database()
        user, at, rest = url.partition("@")
        password = found.secret("database_password")
        assert at
        settings["APP_DATABASE_URL"] = f"{user.split(':')[0]}:{user.split(':')[1]}:{password}@{rest}"
        return found, settings, (cluster.directory,)
    return found, settings, ()


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Chromium puts sockets into it, whose paths may have a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="hunt-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def site() -> Iterator[str]:
    with demo_site() as url:
        yield url


def test_no_planted_secret_is_found_anywhere(
    planted: tuple[Planted, dict[str, str], tuple[Path, ...]], site: str, tmp_path: Path, short_folder: Path
) -> None:
    canaries, settings, database = planted
    sure = Planted()  # the control: these are no secrets, and must be found
    bodies: list[str] = []
    dotenv = f"APP_CELERY_BROKER_URL=redis://u:{canaries.secret('broker_password')}@127.0.0.1:6379/1\n"
    (tmp_path / ".env").write_text(dotenv)
    settings |= {"TMPDIR": str(short_folder), "HUNT": sure.secret("in_environment")}
    settings[forked.WORKERS] = ""  # the environments of real processes are looked at
    with confiding_site(canaries) as confiding, corral_up(tmp_path, site, **settings) as stack:
        stack.client.event_hooks["response"].append(lambda answer: bodies.append(_text_of(answer)))
        watcher = Watcher(stack.process.pid)
        watcher.start()
        uses.logins(stack, canaries)
        uses.addresses(stack, canaries)
        uses.use_confiding_site(stack, confiding, canaries)
        uses.make_target_repeat(stack, confiding, canaries)
        uses.plant_for_sure(stack, confiding, sure)
        uses.proxies(stack, canaries)
        uses.refusals(stack, canaries)
        uses.recipes(stack, canaries)
        uses.previews(stack, canaries)
        said = terminal.commands(stack, canaries, tmp_path, sure)
        bodies.append(terminal.lists(stack, tmp_path))
        said += terminal.key_file(canaries, tmp_path, site) + terminal.bad_settings(canaries, tmp_path)
        uses.kill_worker(stack, confiding, canaries)
        _read_everything(stack)
        watcher.done.set()
        watcher.join()
        rows = _rows(stack, settings)
    folders = (stack.data_dir, short_folder, tmp_path / "other", tmp_path / "bad", *database)
    spoils = Spoils("\n".join(watcher.seen), stack.log.read_bytes(), said, "\n".join(bodies), rows, folders)
    _check_the_search(spoils, canaries, sure, confiding)
    assert len(canaries.kinds) >= 70
    assert spoils.hits(canaries) == {}


def _check_the_search(spoils: Spoils, canaries: Planted, sure: Planted, confiding: ConfidingSite) -> None:
    """It finds what is there to be found, and what was planted in a page was really used by it."""
    places = spoils.hits(sure)
    assert {"processes", "terminal", "api", "jobs.document", "runs.payload"} <= places.keys(), places
    assert any("/artifacts/" in place for place in places), places
    assert any(is_of_database(Path(place)) for place in places), places
    assert set(canaries.in_urls) <= set(canaries.find_in("".join(spoils.rows[place] for place in DATA_COLUMNS)))
    asked = "\n".join(confiding.asked)
    kept_in_the_page = {"local_storage", "session_storage"}
    assert {*OF_THE_APP} - kept_in_the_page <= set(canaries.find_in(asked))


@pytest.mark.parametrize("place", ["processes", "log", "terminal", "api", "rows", "folders"])
def test_the_hunt_fails_where_a_secret_lies(place: str, tmp_path: Path) -> None:
    canaries = Planted()
    secret = canaries.secret("password")
    clean = Spoils("", b"", "", "", {("runs", "stats"): "nothing"}, (tmp_path,))
    assert clean.hits(canaries) == {}
    (tmp_path / "artifact.html").write_text(f"<p>{secret}" if place == "folders" else "")
    found: dict[str, Any] = {"log": secret.encode(), "rows": {("runs", "stats"): secret}, "folders": (tmp_path,)}
    assert list(replace(clean, **{place: found.get(place, secret)}).hits(canaries).values()) == [["password"]]


def _text_of(answer: httpx.Response) -> str:
    answer.read()
    return f"{answer.headers} {answer.text}"


def _read_everything(stack: Stack) -> None:
    pages = ("/", "/docs", "/openapi.json", "/static/app.js", "/health", "/metrics")
    for path in (*pages, "/jobs", "/jobs/sessions", "/jobs/recipes", "/interventions", "/jobs/records"):
        assert stack.client.get(path).status_code == 200, path
    for run in stack.client.get("/jobs/runs?limit=200").json():
        of_run = f"/jobs/runs/{run['id']}"
        assert stack.client.get(f"{of_run}/events?limit=1000").json()
        stack.client.get(f"{of_run}/events/stream").raise_for_status()  # it is over: so is its stream
        for kind in ("json", "csv"):
            stack.client.get(f"{of_run}/export?format={kind}").raise_for_status()
        for artifact in stack.client.get(f"{of_run}/artifacts").json():
            stack.client.get(f"{of_run}/artifacts/{artifact['id']}").raise_for_status()


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
