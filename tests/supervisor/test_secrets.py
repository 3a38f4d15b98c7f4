"""A Redis that we start has a password that others cannot read; each program knows only the secrets it needs."""

import base64
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil

from corral.supervisor.checks import redis_health
from corral.supervisor.plan import WELL
from tests.cli.command import Corral
from tests.services.ports import free_port
from tests.slack import SLACK
from tests.supervisor.up_helpers import execute_run, lines_until

Started = Callable[..., "subprocess.Popen[str]"]

TOKEN = "a-token-for-writing-0123456789"


def test_a_redis_of_ours_has_a_password_and_programs_their_own_secrets_only(
    corral: Corral, started_forks: Started, site: str
) -> None:
    url = f"redis://127.0.0.1:{free_port()}/1"
    key = base64.b64encode(os.urandom(32)).decode()
    settings = {"APP_EGRESS_ALLOW": "127.0.0.1/32:*", "APP_CELERY_BROKER_URL": url}
    secrets = {"APP_VAULT_KEY": key, "APP_WRITE_TOKEN": TOKEN}
    process = started_forks(corral, "up", "--distributed", "--port", "0", "--json", **settings, **secrets)
    told = lines_until(process, lambda line: line.get("status") == "up")
    password = (corral.data / "redis/password").read_text()
    assert len(password) >= 32
    assert "NOAUTH" in redis_health(url).problem
    assert redis_health(url.replace("127.0.0.1", f":{password}@127.0.0.1")) == WELL

    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=told[-1]["url"], timeout=30, headers=headers) as api:
        execute_run(api, site)
        assert api.get("/health").json()["components"]["broker"] == {"status": "up"}
        nodes = {each["pid"] for each in api.get("/workers").json()}
    family = list_descendants(told[-1]["pid"], *nodes)
    assert not [each for each in family if password in " ".join(each.cmdline())]
    knows = {
        name: {each for each in family if value in environ(each)} for name, value in [("key", key), ("token", TOKEN)]
    }
    assert all("serve" in each.cmdline() for each in knows["token"]), "only the API asks for it"
    assert {find_verb(each) for each in knows["key"]} == {"serve", "worker"}, "who seals sessions and who opens them"
    heirs = {find_verb(each) for each in family if password in environ(each)}
    assert heirs == {"serve", "worker"}
    assert any("corral.entrypoints.worker_process" in each.cmdline() for each in family), "who needs no secret"

    shown = corral("status", "--json", APP_TRANSPORT="celery", **settings)
    assert shown.code == 0, "another process of the installation finds the password in its folder"
    process.send_signal(signal.SIGTERM)
    assert process.wait(20 * SLACK) == 0
    logs = "".join(path.read_text() for path in Path(corral.data / "log").iterdir())
    assert password not in logs


def environ(process: psutil.Process) -> str:
    return Path(f"/proc/{process.pid}/environ").read_text()


def list_descendants(*pids: int) -> set[psutil.Process]:
    """The processes below these. What stands for a fork has the environment and the command of the fork."""
    return {child for pid in pids for child in psutil.Process(pid).children(recursive=True) if child.is_running()}


def find_verb(process: psutil.Process) -> str:
    words = process.cmdline()
    return words[words.index("corral") + 1] if "corral" in words else " ".join(words)
