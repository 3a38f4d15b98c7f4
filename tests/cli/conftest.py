import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import Corral
from tests.services.sqlite import migrate
from tests.stack import demo_site


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of a demo site in a process of its own."""
    with demo_site() as url:
        yield url


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Corral:
    """One data folder for the tests of a file, where they do not get in each other's way."""
    return Corral(tmp_path_factory.mktemp("corral"))


@pytest.fixture
def corral(tmp_path: Path) -> Corral:
    return Corral(tmp_path)


@pytest.fixture
def migrated(corral: Corral) -> None:
    """The database of `corral` is there, without the third of a second it takes to make one."""
    migrate(corral.data / "corral.db")


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts commands that go on until they are told to stop, and ends those that a failed test left behind."""
    with _end_afterwards(Corral.start) as start:
        yield start


@pytest.fixture
def started_forks() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """The same with forks, for tests that look at what a command does and not at its processes."""
    with _end_afterwards(Corral.start_fork) as start:
        yield start


@contextmanager
def _end_afterwards(
    launch: Callable[..., subprocess.Popen[str]],
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    running: list[subprocess.Popen[str]] = []

    def start(corral: Corral, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        process = launch(corral, *arguments, **settings)
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()
