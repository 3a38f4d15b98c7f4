from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from corral.store.open import open_store
from corral.store.store import Store
from tests import services
from tests.chaos.level import LEVEL
from tests.services.sqlite import migrate

# In memory it is the same code as in a file.
DATABASES = ("file", "memory", "postgres") if LEVEL else ("file", "postgres")
_TABLES = (
    "jobs, runs, events, records, idempotency_keys, schedule_slots, site_memory, sessions, interventions, recipes,"
    " artifacts, items, crawls, site_statistics, pinned_runs, purge_queue, pages, crawl_hosts, crawl_templates, hosts,"
    " crawl_helpers, crawl_host_owners, nodes, host_quotas, queue_tasks, queue_scrapers,"
    " coverage_tasks, coverage_absences, coverage_reports, loops, data_profiles, withheld_runs,"
    " workflow_definitions, workflows, workflow_steps,"
    " proxies, proxy_sites, proxy_refreshes,"
    " site_configs, campaigns, campaign_sites, alert_channels,"
    " dataset_builds, dataset_images, dataset_pairs"
)

_DELETIONS = [f"DELETE FROM {table}".encode() for table in _TABLES.split(", ")]
_MANY = 500

# Runs one statement behind the store's back and returns its rows.
Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(scope="session")
def migrated_postgres(postgres: services.PostgresCluster) -> str:
    url = postgres.create_database()
    open_store(url)._db.close_now()
    return url


class TableCleaner:
    """Empties the tables for all tests by one connection: a new one would have to learn about each of them first."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = psycopg.connect(url)

    def clean(self) -> None:
        try:
            self._delete()
        except psycopg.OperationalError:  # a test has ended every connection
            self.close()
            self._connection = psycopg.connect(self._url)
            self._delete()

    def close(self) -> None:
        self._connection.close()

    def _delete(self) -> None:
        execute = self._connection.execute
        with self._connection.transaction():
            execute("SET LOCAL session_replication_role = replica")  # in whatever order
            deleted = sum(execute(statement, prepare=True).rowcount for statement in _DELETIONS)
            # Thirty times as quick as to make every table anew, unless many rows would be left behind as dead ones.
            if deleted > _MANY:
                execute(f"TRUNCATE {_TABLES}".encode())


@pytest.fixture(scope="session")
def table_cleaner(migrated_postgres: str) -> Iterator[TableCleaner]:
    cleaner = TableCleaner(migrated_postgres)
    yield cleaner
    cleaner.close()


@pytest.fixture
def postgres_url(migrated_postgres: str, table_cleaner: TableCleaner) -> str:
    """A PostgreSQL database with the tables and nothing in them."""
    table_cleaner.clean()
    return migrated_postgres


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Every database the contract holds for."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return "sqlite://" if request.param == "memory" else f"sqlite:///{migrate(tmp_path / 'corral.db')}"


@pytest.fixture(params=("file", "postgres"))
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Every database that several processes can open."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{migrate(tmp_path / 'corral.db')}"


@pytest.fixture(params=("file", "postgres"))
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without tables."""
    if request.param == "file":
        yield f"sqlite:///{tmp_path}/corral.db"
        return
    cluster: services.PostgresCluster = request.getfixturevalue("postgres")
    url = cluster.create_database()
    yield url
    cluster.drop_database(url)


class OpenPostgres:
    """Keeps the database open for all tests: new connections would have to learn about each table first."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened = open_store(url)

    def make_store(self) -> Store:
        if self._opened._db._closed:  # type: ignore[attr-defined]
            self._opened = open_store(self._url)
        return Store(self._opened._db)

    def close(self) -> None:
        self._opened._db.close_now()


@pytest.fixture(scope="session")
def open_postgres(migrated_postgres: str) -> Iterator[OpenPostgres]:
    opened = OpenPostgres(migrated_postgres)
    yield opened
    opened.close()


@pytest.fixture
async def store(url: str, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    if url.startswith("postgresql"):
        opened: OpenPostgres = request.getfixturevalue("open_postgres")
        yield opened.make_store()
        return
    of_test = open_store(url)
    yield of_test
    await of_test.close()


@pytest.fixture
async def two_stores(shared_url: str) -> AsyncIterator[tuple[Store, Store]]:
    """The same database, opened twice as two processes would."""
    first, second = open_store(shared_url), open_store(shared_url)
    yield first, second
    await first.close()
    await second.close()


@pytest.fixture
def sql(store: Store, url: str) -> Iterator[Sql]:
    if not url.startswith("postgresql"):
        yield lambda text: store._db.connection.execute(text).fetchall()  # type: ignore[attr-defined]
        return
    with psycopg.connect(url, autocommit=True) as connection:

        def execute(text: str) -> list[tuple[Any, ...]]:
            cursor = connection.execute(text.encode())
            return cursor.fetchall() if cursor.description else []

        yield execute
