"""DBOS on SQLite (in WAL mode) and on PostgreSQL: a workflow that calls ten no-op steps.

`direct` calls the workflows one after the other; `start` starts all of them and waits for their handles.
"""

from __future__ import annotations

import sqlite3
import time

from dbos import DBOS, DBOSConfig

from bench.model import Place, Result

STEPS = 10
_THREADS = 16


@DBOS.step()
def do_nothing(number: int) -> None:
    """Nothing."""


@DBOS.workflow()
def ten_steps() -> None:
    for number in range(STEPS):
        do_nothing(number)


class _DbosSteps:
    name = ""
    url = ""

    def measure(self, count: int) -> Result:
        config = DBOSConfig(
            name="bench", system_database_url=self.url, log_level="ERROR", max_executor_threads=_THREADS
        )
        DBOS(config=config)
        DBOS.launch()
        ten_steps()
        began = time.perf_counter()
        ten_steps()
        alone_ms = (time.perf_counter() - began) * 1000
        variants = {"direct": _time_direct(count), "start": _time_started(count)}
        best = max(variants.values())
        notes = f"best of: {', '.join(f'{name} {rate:.0f}' for name, rate in variants.items())}"
        return Result(best, count, count / best, notes, {"one_workflow_ms": alone_ms}, variants)


def _time_direct(count: int) -> float:
    began = time.perf_counter()
    for _ in range(count // STEPS):
        ten_steps()
    return count / (time.perf_counter() - began)


def _time_started(count: int) -> float:
    began = time.perf_counter()
    for handle in [DBOS.start_workflow(ten_steps) for _ in range(count // STEPS)]:
        handle.get_result()
    return count / (time.perf_counter() - began)


class DbosSqliteSteps(_DbosSteps):
    name = "dbos-sqlite"

    def __init__(self, place: Place) -> None:
        file = place.folder / "dbos.sqlite"
        self.url = f"sqlite:///{file}"
        self.connection = sqlite3.connect(file, isolation_level=None, timeout=30)
        self.connection.execute("PRAGMA journal_mode = WAL")


class DbosPostgresSteps(_DbosSteps):
    name = "dbos-postgres"

    def __init__(self, place: Place) -> None:
        self.url = place.services["postgres"].url
