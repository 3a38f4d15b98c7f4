"""Nobody but its user can read the data folder, whatever the umask was; files asked for by name follow the umask."""

import os
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.command import Corral, line_with
from tests.services.ports import free_port
from tests.slack import SLACK

Started = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def readable_by_others(folder: Path) -> list[str]:
    """Everything below, links aside; a socket counts as a file."""
    found = [folder, *folder.rglob("*")]
    return [f"{each} {stat.filemode(mode)}" for each in found if (mode := each.lstat().st_mode) & 0o077]


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("arguments", [("up",), ("up", "--distributed")])
def test_everything_an_installation_writes_is_private(
    corral: Corral, started_forks: Started, site: str, arguments: tuple[str, ...]
) -> None:
    broker = f"redis://127.0.0.1:{free_port()}/1"
    settings = {"APP_EGRESS_ALLOW": "127.0.0.0/8:*", "APP_CELERY_BROKER_URL": broker, "APP_HTTP_CACHE": "revalidate"}
    process = started_forks(corral, *arguments, "--port", "0", "--json", **settings)
    try:
        url = line_with(process, '"status": "up"')
        with httpx.Client(base_url=url.partition('"url": "')[2].partition('"')[0], timeout=30) as api:
            job = {"target_url": f"{site}/articles", "fields": ["title"], "strategy": "http"}
            api.post(f"/jobs/{api.post('/jobs', json=job).json()['id']}/runs").raise_for_status()
            session = {"name": "main", "cookies": [{"name": "a", "value": "b", "domain": "127.0.0.1", "path": "/"}]}
            api.post("/jobs/sessions", json=session)  # makes the key of the vault
            assert {each.name for each in corral.data.iterdir()} >= {"corral.db", "corral.db-wal", "nodes"}
            assert readable_by_others(corral.data) == []
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30 * SLACK)
    assert readable_by_others(corral.data) == []


@pytest.mark.usefixtures("open_umask")
def test_what_a_person_names_follows_the_umask_except_in_the_data_folder(corral: Corral, site: str) -> None:
    def scrape(name: str) -> int:
        os.umask(0o022)
        done = corral("scrape", f"{site}/articles", "--fields", "title", "-o", name)
        assert done.code == 0, done
        return stat.S_IMODE((corral.folder / name).stat().st_mode)

    assert scrape("mine.csv") == 0o644
    inside = corral.data / "mine.csv"
    assert scrape(str(inside)) == 0o600
    assert readable_by_others(corral.data) == []


def test_a_folder_that_is_there_keeps_its_mode_and_doctor_warns(corral: Corral) -> None:
    corral.data.mkdir()
    corral.data.chmod(0o755)
    (corral.data / "notes").write_text("x")
    (corral.data / "notes").chmod(0o644)
    [check] = [each for each in corral.here("doctor", "--json").json["checks"] if each["name"] == "privacy"]
    assert check["verdict"] == "warning"
    assert str(corral.data) in check["found"]
    assert "chmod" in check["remedy"]
    subprocess.run(check["remedy"].partition("`")[2].partition("`")[0], shell=True, check=True)  # the remedy works
    [check] = [each for each in corral.here("doctor", "--json").json["checks"] if each["name"] == "privacy"]
    assert check["verdict"] == "ok"
