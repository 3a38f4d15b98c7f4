"""An idle process loads only what it needs to wait; `python -m bench idle` says what that comes to in megabytes."""

import json
import subprocess
import sys

import pytest

LISTED = "import json, sys; {}; print(json.dumps(sorted(sys.modules)))"
FETCHING = {"wreq", "selectolax", "lxml", "playwright", "corral.extract.page", "corral.fetch.egress.client"}
SERVING = "from corral.runtime.process import load_structlog_alone; load_structlog_alone(); import "


def list_loaded(statement: str) -> set[str]:
    command = [sys.executable, "-c", LISTED.format(statement)]
    return set(json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout))


@pytest.mark.parametrize(
    "statement, spared",
    [
        (
            "import corral.entrypoints.worker_process",
            {"asyncio", "structlog", "orjson", "msgspec", "corral.engine.worker.messages", *FETCHING},
        ),
        ("from corral.entrypoints.worker_process import load_work; load_work()", {"rich.console", "sqlalchemy"}),
        (
            f"{SERVING} corral.cli.main, corral.wiring.roles, corral.api.app",
            {"alembic", "rich.console", "psycopg", *FETCHING},
        ),
        (
            f"{SERVING} corral.cli.main, corral.wiring.services",
            {"sqlalchemy", "celery", "msgspec", "rich.console", *FETCHING},
        ),
    ],
    ids=["worker process", "worker at work", "API and node", "supervisor"],
)
def test_an_idle_process_does_not_load(statement: str, spared: set[str]) -> None:
    assert not list_loaded(statement) & spared
