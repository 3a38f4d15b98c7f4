from collections.abc import Iterator

import pytest

from tests import services


@pytest.fixture(scope="session")
def postgres() -> Iterator[services.PostgresCluster]:
    """One PostgreSQL for the whole session; take a database of your own with `create_database`."""
    with services.postgres_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def redis_server() -> Iterator[services.RedisServer]:
    """One Redis for the whole session; a test that stops it starts its own instead."""
    with services.redis_server() as server:
        yield server
