import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import forked
from tests.services import PostgresCluster, RedisServer
from tests.stack import Stack, corral_distributed, demo_site


@pytest.fixture(scope="package")
def site() -> Iterator[str]:
    with demo_site() as url:
        yield url


@pytest.fixture(scope="package")
def stack(
    site: str, postgres: PostgresCluster, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """An API and one Celery worker with beat."""
    folder = tmp_path_factory.mktemp("distributed")
    with corral_distributed(folder, site, postgres.create_migrated(), redis_server.url(3)) as running:
        yield running


def celery(stack: Stack, *arguments: str, **settings: str) -> str:
    """The ordinary client of Celery, as anybody would use it."""
    command = [*forked.command("celery"), "-A", "corral.celery_app", *arguments]
    variables = {**stack.environment, **settings}
    done = subprocess.run(command, env=variables, cwd=folder_of(stack), capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def folder_of(stack: Stack) -> Path:
    return stack.data_dir.parent
