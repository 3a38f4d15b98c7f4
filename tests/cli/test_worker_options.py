"""What `corral worker` accepts, and what it says to the rest."""

import subprocess
from pathlib import Path

import pytest

from tests import forked
from tests.stack import environment


def worker(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*forked.command(), "worker", *arguments],
        env=environment(folder / "var", **settings),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (("--queues", "http,ftp"), 2, "there is no queue ftp"),
        (("--queues", ","), 2, "no queue is named"),
        (("--processes", "0"), 2, "--processes"),
        (("--concurrency", "many"), 2, "--concurrency"),
        (("--beat",), 2, "APP_TRANSPORT=celery"),
    ],
)
def test_bad_options_are_refused_before_anything_starts(
    tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = worker(tmp_path, *arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert not (tmp_path / "var").exists()


def test_a_transport_that_does_not_exist_is_a_bad_setting(tmp_path: Path) -> None:
    done = worker(tmp_path, APP_TRANSPORT="carrier-pigeon")
    assert done.returncode == 78
    assert "APP_TRANSPORT" in done.stderr
