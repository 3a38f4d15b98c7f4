"""Settings become services, and the environment of the processes behind them."""

import os
import subprocess
from pathlib import Path
from unittest import mock

from pydantic import SecretStr

from corral.domain.net.address import AllowEntry
from corral.settings import Settings
from corral.supervisor.checks import redis_health
from corral.supervisor.plan import WELL, Adopts
from corral.supervisor.records import MARKER, ProcessRecord, is_running, start_time_of
from corral.wiring.services import Installation, environment_of, identity_of
from tests.services import RedisServer
from tests.services.ports import free_port
from tests.supervisor.programs import run_program
from tests.waiting import block_until


def test_what_was_given_reaches_the_other_processes(tmp_path: Path) -> None:
    given = Settings(
        data_dir=tmp_path,
        egress_allow=(AllowEntry.parse("127.0.0.0/8:*"), AllowEntry.parse("10.0.0.0/8:80")),
        vault_key=SecretStr("a-key"),
        retention_keep_records=False,
        http_cache="replay",
        retry_base_seconds=0.5,
    )
    with mock.patch.dict(os.environ, environment_of(given), clear=True):
        assert Settings() == given
    assert Installation(given).environment()["APP_TRANSPORT"] == "celery"


def test_the_services_follow_the_settings(tmp_path: Path) -> None:
    sqlite = Installation(Settings(data_dir=tmp_path))
    assert [each.name for each in sqlite.services()] == ["redis", "worker-1"]
    postgres = Installation(
        Settings(data_dir=tmp_path, database_url="postgresql://u@h/d", runs_per_process=3, shutdown_grace_seconds=7)
    )
    redis, database, api, first, second = postgres.services(workers=2, api=("0.0.0.0", 1234))
    assert (database.command, api.adopts, first.adopts) == ((), Adopts.NEVER, Adopts.NEVER)
    assert api.needs == ("redis", "postgres"), "it answers before there is a worker"
    assert (redis.stop_s, first.stop_s) == (5.0, 8.5)
    assert first.command[4:] == ("--beat", "--processes", "1", "--concurrency", "3")
    assert second.command[4:] == ("--processes", "1", "--concurrency", "3")
    assert sqlite.services()[1].command[4:] == ("--beat", "--processes", "1", "--concurrency", "8")
    assert sqlite.services()[1].adopts is Adopts.FIRST


def test_an_installation_is_its_database(tmp_path: Path) -> None:
    def identity(url: str | None, folder: str = "a") -> str:
        return identity_of(Settings(data_dir=tmp_path / folder, database_url=url))

    assert identity("postgresql://u:one@h/d") == identity("postgresql://v:two@h/d", "b")
    assert identity("postgresql://u@h/d") != identity("postgresql://u@h/e")
    assert identity(None) != identity(None, "b")


def test_our_own_redis_keeps_to_itself_and_is_known_again(tmp_path: Path) -> None:
    """Loopback, a password where the address has one, nothing on disk, and its environment stays readable."""
    port = free_port()
    url = f"redis://:s%23cret@localhost:{port}/20"
    [redis, _] = Installation(Settings(data_dir=tmp_path, celery_broker_url=url)).services()
    redis.prepare()
    conf = tmp_path / "redis/redis.conf"
    assert oct(conf.stat().st_mode & 0o777) == "0o600"
    lines = conf.read_text().splitlines()
    assert {"bind 127.0.0.1", 'save ""', "appendonly no", "maxmemory-policy noeviction"} <= set(lines)
    environment = {**os.environ, MARKER: "a-marker"}
    with run_program(*redis.command, env=environment, stdout=subprocess.DEVNULL) as process:
        block_until(lambda: redis.check(None) == WELL)
        assert redis_health(url.replace("s%23cret", "wrong")).hopeless
        started = start_time_of(process.pid)
        assert started is not None
        assert is_running(ProcessRecord("redis", process.pid, started, "a-marker"))
        assert [path.name for path in conf.parent.iterdir()] == ["redis.conf"]


def test_a_user_of_the_redis_may_be_named(tmp_path: Path) -> None:
    url = f"redis://corral:hush@127.0.0.1:{free_port()}/0"
    [redis, _] = Installation(Settings(data_dir=tmp_path, celery_broker_url=url)).services()
    redis.prepare()
    with run_program(*redis.command, stdout=subprocess.DEVNULL):
        block_until(lambda: redis.check(None) == WELL)


def test_another_installation_on_the_same_redis_is_warned_about_once(tmp_path: Path, redis_server: RedisServer) -> None:
    told: list[str] = []
    url = redis_server.url(8)
    theirs, ours = (
        Installation(Settings(data_dir=tmp_path / name, celery_broker_url=url), warn=told.append).services()[0]
        for name in ("theirs", "ours")
    )
    assert theirs.check(None) == WELL
    assert told == []
    assert (ours.check(None), ours.check(None)) == (WELL, WELL)
    [warning] = told
    assert str(tmp_path / "theirs") in warning
    assert "another number at the end of APP_CELERY_BROKER_URL" in warning
