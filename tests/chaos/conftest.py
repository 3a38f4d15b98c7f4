import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import services
from tests.chaos.stack import Stack, stack_on
from tests.stack import demo_site

LEVEL = os.environ.get("CORRAL_CHAOS", "")
# What one test of the long versions may take.
TIMEOUTS_S = {"": 120, "long": 3600, "soak": 6 * 3600}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.chaos)
            item.add_marker(pytest.mark.timeout(TIMEOUTS_S.get(LEVEL, 120)))


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with demo_site() as url:
        yield url


@pytest.fixture(params=("file", "postgres"))
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return f"sqlite:///{tmp_path}/corral.db"
    cluster: services.PostgresCluster = request.getfixturevalue("postgres")
    return cluster.create_migrated()


@pytest.fixture
def stack(url: str, tmp_path: Path) -> Iterator[Stack]:
    """Nodes as processes, on either database."""
    with stack_on(url, tmp_path) as opened:
        yield opened


@pytest.fixture(params=("postgres", "file") if LEVEL else ("postgres",))
def one_stack(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stack]:
    """On either database in the long versions; what takes a lease's time is done once in the short one."""
    cluster: services.PostgresCluster = request.getfixturevalue("postgres")
    url = cluster.create_migrated() if request.param == "postgres" else f"sqlite:///{tmp_path}/corral.db"
    with stack_on(url, tmp_path) as opened:
        yield opened


@pytest.fixture
def file_stack(tmp_path: Path) -> Iterator[Stack]:
    with stack_on(f"sqlite:///{tmp_path}/corral.db", tmp_path) as opened:
        yield opened
