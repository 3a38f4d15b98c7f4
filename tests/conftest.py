import functools
import os
import signal
from collections.abc import Iterator

import alembic.command  # noqa: F401 - loaded here, migrations run in this process, which has threads, and not in a fork
import pytest
from httpx._transports import default as transport
from hypothesis import HealthCheck, settings

from tests import cpu, forked, parallel, services, statements
from tests.chaos.level import by_level
from tests.chaos.report import LINES
from tests.parallel import pytest_runtestloop  # noqa: F401
from tests.selection import deselect

# numpy would start a thread when a test module is imported, and the forks that run the tests would lack it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Every client of httpx would load the certificates of the system, 24 ms of CPU time, to speak HTTP to 127.0.0.1.
transport.create_ssl_context = functools.cache(transport.create_ssl_context)  # type: ignore[attr-defined]

statements.share()

# How long an example takes says how busy the machine is, and nothing else.
settings.register_profile(
    "corral", max_examples=by_level(40, 200), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("corral")


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


@pytest.fixture
def forked_workers() -> Iterator[None]:
    """Workers and parsers of nodes in this process are forks, which saves a second of a core each.

    Not for tests of these processes themselves: the node sees one that stands for the fork.
    """
    with forked.fork_processes():
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parallel.add_option(parser)
    cpu.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """A shell starts what runs in its background deaf to these; the processes that tests start would be deaf, too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    cpu.configure(config)
    if config.getoption("processes"):
        forked.provide()


def pytest_unconfigure() -> None:
    forked.end()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests that take long, and find little that others do not find, to `make chaos`."""
    deselect(config, items, lambda item: item.get_closest_marker("long") is not None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in LINES:
        terminalreporter.write_line(f"chaos: {line}")
