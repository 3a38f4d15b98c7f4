"""The HTTP server as strangers meet it: one installation with the default limits, one with small ones."""

from collections.abc import Iterator

import pytest

from tests.stack import Stack, corral_up, demo_site

SMALL = {
    "APP_API_HEADER_TIMEOUT_SECONDS": "1",
    "APP_API_BODY_TIMEOUT_SECONDS": "2",
    "APP_API_KEEP_ALIVE_SECONDS": "1",
    "APP_API_SEND_TIMEOUT_SECONDS": "1",
    "APP_API_MAX_CONNECTIONS": "8",
    "APP_API_MAX_STREAMS": "3",
    "APP_API_WRITE_RATE": "2",
    "APP_API_WRITE_BURST": "20",
    "APP_API_READ_RATE": "2",
    "APP_API_READ_BURST": "40",
}


@pytest.fixture(scope="package")
def site() -> Iterator[str]:
    with demo_site() as url:
        yield url


@pytest.fixture(scope="package")
def stack(site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """With the limits that an installation has by default."""
    with corral_up(tmp_path_factory.mktemp("door"), site) as running:
        yield running


@pytest.fixture(scope="package")
def small(site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """With limits that a test reaches within seconds."""
    with corral_up(tmp_path_factory.mktemp("small-door"), site, **SMALL) as running:
        yield running
