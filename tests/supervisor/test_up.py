"""`corral up --distributed`: refused before anything is started, or all of it up, looked after, and gone at the end."""

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import httpx
import pytest

from corral.supervisor.checks import redis_health
from corral.supervisor.plan import WELL
from tests.chaos.level import LEVEL
from tests.cli.command import Corral, all_gone, descendants
from tests.services import PostgresCluster, RedisServer
from tests.services.ports import free_port
from tests.slack import SLACK
from tests.supervisor.checks_helpers import redis_with, serve_words
from tests.supervisor.programs import have_ended
from tests.supervisor.up_helpers import execute_run, lines_until
from tests.waiting import block_until

Started = Callable[..., "subprocess.Popen[str]"]


def broker(port: int, number: int = 1) -> dict[str, str]:
    return {"APP_CELERY_BROKER_URL": f"redis://127.0.0.1:{port}/{number}"}


# -- before anything is started ------------------------------------------------------------------------


def up_refused(corral: Corral, *arguments: str, **settings: str) -> str:
    done = corral.here("up", "--distributed", "--port", "0", *arguments, **settings)
    assert (done.code, done.out) == (78, ""), done
    assert not corral.data.exists()
    return done.err


def test_a_broker_that_is_no_redis_is_refused(corral: Corral) -> None:
    told = up_refused(corral, APP_CELERY_BROKER_URL="amqp://guest:secret@127.0.0.1//")
    assert "APP_CELERY_BROKER_URL starts with amqp:" in told
    assert "secret" not in told
    assert "a Redis has numbers" in up_refused(corral, APP_CELERY_BROKER_URL="redis://127.0.0.1:1/corral")
    assert "cannot be read" in up_refused(corral, APP_CELERY_BROKER_URL="redis://127.0.0.1:port/1")
    with serve_words(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        assert f"the server at 127.0.0.1:{port} is not Redis" in up_refused(corral, **broker(port))


def test_a_missing_redis_server_is_named_with_what_to_install(corral: Corral, tmp_path: Path) -> None:
    with mock.patch.object(shutil, "which", return_value=None):
        told = up_refused(corral, **broker(free_port()))
    assert "there is no redis-server to start one with" in told
    assert "apt-get install redis-server" in told


def test_a_redis_elsewhere_is_not_started_from_here(corral: Corral) -> None:
    told = up_refused(corral, APP_CELERY_BROKER_URL=f"rediss://127.0.0.1:{free_port()}/0")
    assert "starts a Redis on this machine only" in told


def test_a_redis_that_wants_a_password_is_named(corral: Corral, tmp_path: Path) -> None:
    with redis_with(tmp_path, "--requirepass", "hush") as url:
        told = up_refused(corral, APP_CELERY_BROKER_URL=url)
    assert "asks for a password (NOAUTH)" in told


def test_several_problems_are_told_at_once(corral: Corral) -> None:
    told = up_refused(corral, APP_CELERY_BROKER_URL="sqs://", APP_DATABASE_URL="sqlite://")
    assert told.count("corral: ") == 2
    assert "a database in memory" in told


def test_a_taken_port_is_one_line(corral: Corral) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = corral.here("up", "--distributed", "--port", port, **broker(free_port()))
    assert (done.code, done.out) == (78, "")
    assert f"cannot listen on 127.0.0.1:{port}" in done.err


def test_a_database_that_is_away_is_said_before_anything_starts(corral: Corral) -> None:
    url = f"postgresql://user:secret@127.0.0.1:{free_port()}/nothing"
    done = corral.here("up", "--distributed", "--port", "0", APP_DATABASE_URL=url, **broker(free_port()))
    assert (done.code, done.out) == (1, "")
    assert "PostgreSQL at 127.0.0.1:" in done.err
    assert "secret" not in done.err
    assert not corral.data.exists()


def test_a_database_of_some_other_program_is_said_before_anything_starts(corral: Corral, tmp_path: Path) -> None:
    theirs = sqlite3.connect(tmp_path / "theirs.db")
    theirs.execute("CREATE TABLE theirs (number)")
    theirs.commit()
    theirs.close()
    told = up_refused(corral, APP_DATABASE_URL=f"sqlite:///{tmp_path}/theirs.db", **broker(free_port()))
    assert "is a SQLite database of some other program" in told


def test_a_dry_run_prints_the_plan_and_does_nothing(corral: Corral, postgres: PostgresCluster) -> None:
    settings = {"APP_DATABASE_URL": postgres.url(), **broker(free_port())}
    done = corral.here("up", "--distributed", "--workers", "2", "--port", "0", "--dry-run", "--json", **settings)
    assert done.code == 0
    told = done.json
    names = ["redis", "postgres", "api", "worker-1", "worker-2"]
    assert [each["name"] for each in told["services"]] == names
    assert told["stops"] == names[::-1]
    assert [each["action"] for each in told["services"]] == ["start", "use", "start", "start", "start"]
    needs = {each["name"]: each["needs"] for each in told["services"]}
    assert needs["api"] == needs["worker-2"] == ["redis", "postgres"], "the API answers before there is a worker"
    beats = [each["name"] for each in told["services"] if "--beat" in (each["command"] or "")]
    assert beats == ["worker-1"], "one keeps the time for all"
    assert not corral.data.exists()
    shown = corral.here("up", "--distributed", "--port", "0", "--dry-run", **broker(free_port())).out
    assert "stopped in the order worker-1, api, redis; nothing was started" in shown


def test_the_options_of_one_way_are_not_taken_for_the_other(corral: Corral) -> None:
    assert corral.here("up", "--workers", "2").code == 2
    embedded = corral.here("up", "--port", "0", "--dry-run", "--json")
    assert (embedded.code, embedded.json["workers"]) == (0, 1)
    assert not corral.data.exists()


# -- all of it -----------------------------------------------------------------------------------------


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def running(corral: Corral, started: Started, port: int) -> "subprocess.Popen[str]":
    settings = {"APP_EGRESS_ALLOW": "127.0.0.1/32:*", **broker(port)}
    return started(corral, "up", "--distributed", "--port", "0", "--json", **settings)


def test_everything_is_started_looked_after_and_stopped(
    request: pytest.FixtureRequest, port: int, running: "subprocess.Popen[str]"
) -> None:
    told = lines_until(running, lambda line: line.get("status") == "up")
    assert "SQLite" in told[0]["warning"]
    order = [line["service"] for line in told if line.get("state") == "up"]
    assert order[0] == "redis"
    assert set(order) == {"redis", "api", "worker-1"}
    family = descendants(running)
    with httpx.Client(base_url=told[-1]["url"], timeout=30) as api:
        assert api.get("/ready").json() == {"ready": True}
        shown = api.get("/supervisor").json()
        assert shown["pid"] == running.pid
        services = [(each["name"], each["state"], each["is_ours"]) for each in shown["services"]]
        assert services == [*((name, "up", True) for name in ("redis", "api", "worker-1"))]
        worker = shown["services"][2]
        assert "Corral works" in Path(worker["log"]).read_text()
        if LEVEL:
            site = request.getfixturevalue("site")
            for killed in (worker, shown["services"][0]):
                os.kill(killed["pid"], signal.SIGKILL)
                execute_run(api, site)
                block_until(lambda: {each["state"] for each in api.get("/supervisor").json()["services"]} == {"up"}, 30)
            redis, _, again = api.get("/supervisor").json()["services"]
            assert (redis["restarts"], again["restarts"], again["pid"] != worker["pid"]) == (1, 1, True)
            family += descendants(running)

    running.send_signal(signal.SIGTERM)
    assert running.wait(20 * SLACK) == 0
    assert running.stdout is not None
    ends = [json.loads(line) for line in running.stdout]
    stopped = [line["service"] for line in ends if line.get("state") == "stopped"]
    assert set(stopped) == {"api", "worker-1", "redis"}
    assert stopped[-1] == "redis"
    assert all_gone(family)
    assert redis_health(f"redis://127.0.0.1:{port}/1") != WELL


@pytest.mark.skipif(not LEVEL, reason="tests/supervisor/test_supervisor.py kills one that looks after small programs")
def test_a_killed_supervisor_leaves_nothing(corral: Corral, port: int, running: "subprocess.Popen[str]") -> None:
    """As soon as Redis and the worker are there: it does not matter how far it had come."""
    lines_until(running, lambda line: (line.get("service"), line.get("state")) == ("worker-1", "starting"))
    time.sleep(0.5)
    family = descendants(running)
    assert len(family) >= 3
    running.kill()
    running.wait()
    block_until(lambda: have_ended(family), 1.0)


@pytest.mark.skipif(not LEVEL, reason="several seconds of a core; tests/supervisor/test_orchestrator.py adopts, too")
def test_a_redis_that_runs_already_is_used_and_left_running(
    corral: Corral, started: Started, redis_server: RedisServer
) -> None:
    """A second signal, too: it is in a hurry, and what is not ours is left alone all the same."""
    process = started(corral, "up", "--distributed", "--port", "0", "--json", **broker(redis_server.port, 9))
    told = lines_until(process, lambda line: line.get("status") == "up")
    redis = next(line for line in told if line.get("service") == "redis" and line["state"] == "up")
    assert (redis["is_ours"], redis["pid"]) == (False, None)
    assert not (corral.data / "redis").exists()
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert process.wait(20 * SLACK) == 130
    assert redis_health(redis_server.url(9)) == WELL


def test_a_terminal_and_a_pipe_are_told_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """What comes from elsewhere cannot steer the terminal."""
    from datetime import UTC, datetime

    from corral.cli.render import console
    from corral.cli.serving.distributed import _plain_line, _table
    from corral.supervisor.plan import ServiceState
    from corral.supervisor.status import ServiceStatus

    now = datetime.now(UTC)
    shown = [
        ServiceStatus("redis", ServiceState.UP, now, is_ours=False),
        ServiceStatus(
            "worker-1", ServiceState.RESTARTING, now, is_ours=True, problem="it ended\x1b[2J", next_start_s=3.9
        ),
        ServiceStatus(
            "api", ServiceState.UP, now, is_ours=True, pid=77, restarts=2, log=f"{Path.cwd()}/var/log/api.log"
        ),
    ]
    for each in shown:
        _plain_line(each)
    assert capsys.readouterr().out.splitlines() == [
        "redis      up (used, not ours)",
        "worker-1   restarting - it ended\\x1b[2J - again in 4 s",
        "api        up (process 77)",
    ]
    terminal = console()
    terminal.width = 120
    terminal.print(_table(shown))
    table = capsys.readouterr().out
    assert "\x1b[2J" not in table
    for text in ("used, not ours", "again in 4 s", "process 77", "var/log/api.log", "0 s ago"):
        assert text in table
