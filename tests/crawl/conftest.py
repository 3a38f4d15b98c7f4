from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from corral.wiring import App
from tests import services
from tests.chaos.level import LEVEL
from tests.engine.build import settings_for, working

# What depends on the database is tried on both by the store's own tests; here, the whole way, when there is time.
DATABASES = ("file", "postgres") if LEVEL else ("file",)


@pytest.fixture(params=DATABASES, scope="session")
def database(request: pytest.FixtureRequest) -> str | None:
    if request.param == "file":
        return None
    cluster: services.PostgresCluster = request.getfixturevalue("postgres")
    return cluster.create_database()


@pytest.fixture
async def app(database: str | None, tmp_path: Path) -> AsyncIterator[App]:
    settings = settings_for(tmp_path, database, egress_allow="127.0.0.1/32:*", http_timeout_seconds=5)
    async with working(settings) as opened:
        yield opened
