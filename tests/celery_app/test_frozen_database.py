"""A PostgreSQL that is stopped (SIGSTOP) accepts connections and says nothing: requests are refused at once."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from tests.services import PostgresCluster, postgres_cluster
from tests.slack import SLACK
from tests.stack import environment, serve_api
from tests.waiting import block_until


@pytest.fixture
def cluster() -> Iterator[PostgresCluster]:
    """Its own: the tests beside this one would not like theirs to freeze."""
    with postgres_cluster() as made:
        yield made


@contextmanager
def frozen(cluster: PostgresCluster) -> Iterator[None]:
    assert cluster.process is not None
    server = psutil.Process(cluster.process.pid)
    processes = [server, *server.children(recursive=True)]
    for each in processes:
        each.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for each in processes:
            each.send_signal(signal.SIGCONT)


def test_requests_are_refused_while_the_database_is_frozen(tmp_path: Path, site: str, cluster: PostgresCluster) -> None:
    job = {"target_url": f"{site}/articles", "fields": ["title"], "strategy": "http"}
    variables = environment(tmp_path / "var", APP_DATABASE_URL=cluster.create_migrated())
    with serve_api(tmp_path, variables) as (url, _), httpx.Client(base_url=url, timeout=30) as client:
        made = client.post("/jobs", json=job)
        assert made.status_code == 200, made.text
        before = made.json()["id"]
        slowest_s = 0.0
        with frozen(cluster):
            for method, path, body in (
                ("GET", "/jobs", None),
                ("POST", "/jobs", job),
                ("GET", f"/jobs/{before}", None),
                ("GET", "/health", None),
            ):
                began = time.monotonic()
                answer = client.request(method, path, json=body)
                slowest_s = max(slowest_s, time.monotonic() - began)
                assert answer.status_code == 503, answer.text
                if path == "/health":
                    assert answer.json()["components"]["database"]["status"] == "down"
                else:
                    assert answer.json()["error"]["code"] == "storage_unavailable"
                    assert answer.headers["Retry-After"]
        assert slowest_s < 2 + SLACK, "two seconds are promised; the rest is for a busy machine"
        block_until(lambda: client.get("/health").status_code == 200)
        assert [each["id"] for each in client.get("/jobs").json()] == [before], "what was refused has not happened"
