from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.selection import deselect
from tests.services import PostgresCluster, RedisServer
from tests.stack import Stack, corral_distributed, corral_up, demo_site


@pytest.fixture(scope="package")
def site() -> Iterator[str]:
    with demo_site() as url:
        yield url


@pytest.fixture(scope="package", params=["sqlite", "distributed", "postgres"])
def stack(request: pytest.FixtureRequest, site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One running installation of each kind, shared by the tests of this folder."""
    folder = tmp_path_factory.mktemp(f"api-{request.param}")
    if request.param == "sqlite":
        with corral_up(folder, site) as running:
            yield running
        return
    cluster: PostgresCluster = request.getfixturevalue("postgres")
    url = cluster.create_migrated()
    if request.param == "postgres":
        with corral_up(folder, site, APP_DATABASE_URL=url) as running:
            yield running
        return
    redis: RedisServer = request.getfixturevalue("redis_server")
    with corral_distributed(folder, site, url, redis.url()) as running:
        yield running


# What the transport or the node has to do with is tested on two of them, one process with SQLite, and PostgreSQL with
# Redis and Celery; the rest on the first, when there is little time. The tests of the store have both databases.
_ON_BOTH = frozenset(
    f"test_{name}.py"
    for name in ("campaigns", "coverage", "filters", "jobs", "races", "runs", "streams", "workers", "workflows")
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    deselect(config, items, _is_spared)


def _is_spared(item: pytest.Item) -> bool:
    is_here = item.path.parent == Path(__file__).parent  # the items of every folder are asked about
    is_on_both = item.path.name in _ON_BOTH and not item.get_closest_marker("browser")
    return is_here and ("[postgres" in item.name or ("[distributed" in item.name and not is_on_both))
