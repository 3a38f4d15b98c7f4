from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.level import LEVEL
from tests.services import PostgresCluster
from tests.stack import Stack, corral_up, demo_site


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    with demo_site() as url:
        yield url


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def stack(request: pytest.FixtureRequest, site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One running installation per database, shared by the tests of this folder."""
    settings = {}
    if request.param == "postgres":
        cluster: PostgresCluster = request.getfixturevalue("postgres")
        settings["APP_DATABASE_URL"] = cluster.create_database()
    with corral_up(tmp_path_factory.mktemp(f"api-{request.param}"), site, **settings) as running:
        yield running


# What the database has to do with is tried on both; the rest on one of them, when there is little time.
_ON_BOTH = frozenset(f"test_{name}.py" for name in ("edges", "filters", "jobs", "races", "requests", "runs", "streams"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    spared = {item for item in items if not LEVEL and _is_spared(item)}
    if spared:
        config.hook.pytest_deselected(items=spared)
        items[:] = [item for item in items if item not in spared]


def _is_spared(item: pytest.Item) -> bool:
    is_here = item.path.parent == Path(__file__).parent  # the items of every folder are asked about
    return is_here and item.path.name not in _ON_BOTH and "[postgres" in item.name
