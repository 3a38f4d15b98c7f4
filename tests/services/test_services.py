"""The launchers keep their promise: really there, really durable, and really gone."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg
import pytest
from redis import Redis

from tests.forked.process import start_process
from tests.services import PostgresCluster, RedisServer, postgres_cluster, redis_server
from tests.services.process import find_binary
from tests.slack import SLACK

ROOT = Path(__file__).parents[2]


def processes_in(directory: Path) -> list[int]:
    """Everything that still works in a service's directory, children included."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(directory) in " ".join(process.cmdline()) or Path(process.cwd()).is_relative_to(directory):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def wait_until_gone(directory: Path, timeout_s: float = 15) -> None:
    deadline = time.monotonic() + timeout_s
    while left := processes_in(directory):
        assert time.monotonic() < deadline, f"still running in {directory}: {left}"
        time.sleep(0.05)


def test_postgres_keeps_committed_rows_through_a_stop_and_a_crash() -> None:
    with postgres_cluster() as cluster:
        url = cluster.create_database()
        write(url, "CREATE TABLE seen (n int)")
        write(url, "INSERT INTO seen VALUES (1)")
        cluster.stop()
        assert processes_in(cluster.directory) == []
        cluster.start()
        write(url, "INSERT INTO seen VALUES (2)")
        cluster.kill()
        assert processes_in(cluster.directory) == []
        assert not cluster.is_ready()
        cluster.start()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT n FROM seen ORDER BY n").fetchall() == [(1,), (2,)]
            assert connection.execute("SHOW fsync").fetchone() == ("on",)
    assert processes_in(cluster.directory) == []
    assert not cluster.directory.exists()


def write(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement.encode())


def test_redis_answers_and_forgets_when_it_is_stopped() -> None:
    with redis_server() as server:
        with Redis.from_url(server.url()) as client:
            client.set("key", "value")
            assert client.get("key") == b"value"
        server.stop()
        assert processes_in(server.directory) == []
        server.start()
        with Redis.from_url(server.url()) as client:
            assert client.get("key") is None
        server.kill()
        assert processes_in(server.directory) == []
    assert not server.directory.exists()


def test_a_block_that_fails_leaves_nothing_behind() -> None:
    with pytest.raises(ZeroDivisionError), redis_server() as server:
        _ = 1 / 0
    assert processes_in(server.directory) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
@pytest.mark.parametrize("launcher", ["postgres_cluster", "redis_server"])
def test_a_service_dies_with_a_killed_parent(launcher: str) -> None:
    program = (
        "import time\n"
        f"from tests.services import {launcher}\n"
        f"with {launcher}() as service:\n"
        "    print(service.directory, flush=True)\n"
        "    time.sleep(60)\n"
    )
    parent = start_process([program], module="-c", env=os.environ, cwd=ROOT)
    assert parent.stdout is not None
    with parent.stdout as output:
        directory = Path(output.readline().decode().strip())
    assert len(processes_in(directory)) > 0
    parent.kill()
    parent.wait(20 * SLACK)
    wait_until_gone(directory)
    subprocess.run(["rm", "-rf", directory], check=True)


def test_the_session_fixtures_serve(postgres: PostgresCluster, redis_server: RedisServer) -> None:
    first, second = postgres.create_database(), postgres.create_database()
    assert first != second
    postgres.drop_database(first)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(first)
    assert redis_server.is_ready()


def test_a_missing_program_fails_on_ci_and_skips_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(FileNotFoundError, match="scripts/services redis"):
        find_binary("no-such-program", service="redis")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="scripts/services redis"):
        find_binary("no-such-program", service="redis")
