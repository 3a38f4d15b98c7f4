from pathlib import Path

import pytest

from corral.settings import Settings
from tests import services
from tests.chaos.level import LEVEL
from tests.cli.command import Corral
from tests.engine.builders import settings_for
from tests.services.sqlite import migrate


@pytest.fixture(autouse=True)
def cheap_workers(forked_workers: None) -> None:
    """For all tests of this folder."""


@pytest.fixture(params=("file", "postgres") if LEVEL else ("file",))
def shared_settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """A database that several nodes can open."""
    if request.param == "file":
        return settings_for(tmp_path)
    cluster: services.PostgresCluster = request.getfixturevalue("postgres")
    return settings_for(tmp_path, cluster.create_migrated())


@pytest.fixture
def corral(tmp_path: Path) -> Corral:
    migrate(tmp_path / "data/corral.db")
    return Corral(tmp_path)
