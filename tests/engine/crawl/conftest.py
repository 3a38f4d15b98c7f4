from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from corral.wiring.app import App
from tests import services
from tests.chaos.level import LEVEL
from tests.cli.command import Corral
from tests.engine.builders import run_node, settings_for
from tests.services import PostgresCluster, RedisServer
from tests.services.sqlite import migrate
from tests.stack import Stack, corral_distributed, corral_up

# What depends on the database is tried on both by the store's own tests; here, the whole way, when there is time.
DATABASES = ("file", "postgres") if LEVEL else ("file",)


@pytest.fixture(params=DATABASES, scope="package")
def database(request: pytest.FixtureRequest) -> str | None:
    if request.param == "file":
        return None
    cluster: services.PostgresCluster = request.getfixturevalue("postgres")
    return cluster.create_migrated()


@pytest.fixture(autouse=True)
def cheap_workers(forked_workers: None) -> None:
    """For all tests of this folder."""


@pytest.fixture
async def app(database: str | None, tmp_path: Path) -> AsyncIterator[App]:
    settings = settings_for(tmp_path, database, egress_allow="127.0.0.1/32:*", http_timeout_seconds=5)
    async with run_node(settings) as opened:
        yield opened


@pytest.fixture
def corral(tmp_path: Path) -> Corral:
    """The command line with a data folder of its own."""
    migrate(tmp_path / "data/corral.db")
    return Corral(tmp_path)


@pytest.fixture(scope="package", params=(*DATABASES, "distributed"))
def stack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One running installation for all of this folder: starting it costs more than most of what is asked of it."""
    settings = {"APP_RETRY_BASE_SECONDS": "0.1", "APP_RETRY_CAP_SECONDS": "0.2", "APP_SHUTDOWN_GRACE_SECONDS": "0.5"}
    folder, site = tmp_path_factory.mktemp(f"scraping-{request.param}"), "http://127.0.0.1:9"
    if request.param == "distributed":
        cluster: PostgresCluster = request.getfixturevalue("postgres")
        redis: RedisServer = request.getfixturevalue("redis_server")
        with corral_distributed(folder, site, cluster.create_migrated(), redis.url(1), **settings) as running:
            yield running
        return
    if request.param == "postgres":
        cluster = request.getfixturevalue("postgres")
        settings["APP_DATABASE_URL"] = cluster.create_migrated()
    with corral_up(folder, site, **settings) as running:
        yield running
