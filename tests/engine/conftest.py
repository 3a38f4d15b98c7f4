from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from corral.settings import Settings
from corral.wiring.app import App
from tests import services
from tests.chaos.level import LEVEL
from tests.engine.builders import run_node, settings_for


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_for(tmp_path, workers=2)


@pytest.fixture
async def app(settings: Settings) -> AsyncIterator[App]:
    """A node with two workers on a SQLite file."""
    async with run_node(settings) as opened:
        yield opened


@pytest.fixture(params=("file", "postgres") if LEVEL else ("file",))
def shared_settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """A database that several nodes can open."""
    if request.param == "file":
        return settings_for(tmp_path, workers=2)
    cluster: services.PostgresCluster = request.getfixturevalue("postgres")
    return settings_for(tmp_path, cluster.create_migrated(), workers=2)
