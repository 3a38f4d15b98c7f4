from collections.abc import Iterator

import pytest

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
