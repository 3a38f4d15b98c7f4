from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from corral.wiring import App
from tests import services
from tests.engine.build import settings_for, working


@pytest.fixture(params=("file", "postgres"), scope="session")
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str | None:
    if request.param == "file":
        return None
    cluster: services.PostgresCluster = request.getfixturevalue("postgres")
    return cluster.create_database()


@pytest.fixture
async def app(database: str | None, tmp_path: Path) -> AsyncIterator[App]:
    settings = settings_for(tmp_path, database, egress_allow="127.0.0.1/32:*", http_timeout_seconds=5)
    async with working(settings) as opened:
        yield opened
