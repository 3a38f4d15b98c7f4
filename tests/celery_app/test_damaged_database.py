"""A database that is damaged while Corral runs: refused in the shape of an error, told by /health, logged once."""

import sqlite3
from pathlib import Path

import httpx
import psycopg

from tests.services import PostgresCluster
from tests.stack import Stack, corral_up
from tests.waiting import block_until

REQUESTS = 20


def unhealthy(stack: Stack) -> str | None:
    answer = stack.client.get("/health")
    if answer.status_code != 503:
        return None
    assert answer.json()["status"] == "unhealthy"
    return str(answer.json()["components"]["database"]["reason"])


def get_refused(stack: Stack, path: str) -> httpx.Response:
    answer = stack.client.get(path)
    assert answer.status_code == 503, answer.text
    assert answer.json()["error"]["code"] == "storage_unusable"
    return answer


def complaints(stack: Stack) -> int:
    return stack.log.read_text().count("database_damaged")


def test_a_file_whose_bytes_are_overwritten(tmp_path: Path, site: str) -> None:
    with corral_up(tmp_path, site) as stack:
        for _ in range(3):
            stack.wait_for_end(stack.start(stack.job())["id"])
        assert stack.client.get("/health").json()["status"] == "healthy"
        path = stack.data_dir / "corral.db"
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xa5" * (size - 4096))
        with sqlite3.connect(path) as other:  # what others write makes a process forget the pages it has read
            other.execute("PRAGMA user_version=7")
        block_until(lambda: stack.client.get("/jobs").status_code != 200)
        for _ in range(REQUESTS):
            get_refused(stack, "/jobs")
        assert "is damaged" in (unhealthy(stack) or "")
        assert complaints(stack) == 1


def test_a_table_that_is_dropped_and_restored(tmp_path: Path, site: str, postgres: PostgresCluster) -> None:
    url = postgres.create_database()
    with corral_up(tmp_path, site, APP_DATABASE_URL=url) as stack:
        job = stack.job()
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("ALTER TABLE artifacts RENAME TO lost")
            block_until(lambda: unhealthy(stack) is not None)  # nobody has asked for that table yet
            assert "artifacts" in (unhealthy(stack) or "")
            assert stack.client.get("/jobs").status_code == 200, "the rest can still be read"
            run = stack.start(job)["id"]
            for _ in range(REQUESTS):
                get_refused(stack, f"/jobs/runs/{run}/artifacts")
            assert complaints(stack) == 1
            other.execute("ALTER TABLE lost RENAME TO artifacts")
        block_until(lambda: stack.client.get("/health").status_code == 200)
        stack.wait_for_end(run)
