from collections.abc import Iterator

import pytest

from tests.chaos.level import LEVEL
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


# What these try happens before anything is stored, or after: on one database, when there is little time.
_ANY_DATABASE = frozenset(f"test_{name}.py" for name in ("preview", "proxies", "selectors", "patterns", "field_maps"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    spared = [item for item in items if not LEVEL and item.path.name in _ANY_DATABASE and "[postgres" in item.name]
    if spared:
        config.hook.pytest_deselected(items=spared)
        items[:] = [item for item in items if item not in set(spared)]
