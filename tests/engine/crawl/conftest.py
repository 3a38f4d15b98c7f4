from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from corral.wiring.app import App
from tests import forked, services
from tests.chaos.level import LEVEL
from tests.cli.command import Corral
from tests.engine.builders import run_node, settings_for
from tests.selection import deselect
from tests.services import PostgresCluster, RedisServer
from tests.services.sqlite import migrate
from tests.stack import Stack, corral_distributed, corral_up

# What depends on the database is tried on both by the store's own tests; here, the whole way, when there is time.
DATABASES = ("file", "postgres") if LEVEL else ("file",)

# Tests of what the transport and the database have to do with. The others have one installation when there is little
# time.
_ALSO_DISTRIBUTED = (
    "test_a_task_from_its_submission_to_its_results",
    "test_results_can_be_read_while_it_runs_and_it_can_be_cancelled_once",
    "test_a_list_behind_a_login_waits_for_one_and_goes_on",
    "test_a_crawl_that_has_ended_can_be_retried_like_any_run",
    "test_counts_reasons_pages_and_why",
    "test_tasks_are_listed_by_status_newest_first",
    "test_health_and_capacity",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    deselect(config, items, _is_spared)


def _is_spared(item: pytest.Item) -> bool:
    is_here = item.path.parent == Path(__file__).parent  # the items of every folder are passed
    return is_here and "[distributed" in item.name and not item.name.startswith(_ALSO_DISTRIBUTED)


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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_app(database: str | None, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    """One node for a module: its worker keeps its browser, which costs a second of a core to start."""
    folder = tmp_path_factory.mktemp("shared-node")
    settings = settings_for(folder, database, egress_allow="127.0.0.1/32:*", http_timeout_seconds=5)
    with forked.fork_processes():
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
