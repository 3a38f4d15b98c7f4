"""DBOS on SQLite and on PostgreSQL: a no-op workflow, in every way DBOS offers to run many of them.

Tried in turn, the best is the reported rate and all are listed:

- `direct`: call the workflow in a loop. Recorded before and after, but nothing is queued.
- `start`: `DBOS.start_workflow`, then wait for all handles.
- `queue`: one enqueue per workflow on a queue without a concurrency limit, polled every 50 ms.
- `queue, bulk`: the same queue, all enqueued by `DBOSClient.enqueue_in_transaction` in one transaction.
- `queue, bulk, N workers`: the same, drained by one other process on SQLite, by two on PostgreSQL.

SQLite is switched to WAL beforehand, which DBOS does not do itself and which makes it half again as fast;
`synchronous` stays at FULL. PostgreSQL has its default durability. Everything is up before the clock starts.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSConfig

from bench import probe
from bench.model import Place, Result

QUEUE = "bench"
VERSION = "bench"
THREADS = 16
POLL_S = 0.05
SINGLE_SAMPLES = 100
TIMEOUT_S = 120.0
PROCESSES = 2


@DBOS.workflow()
def noop(number: int) -> None:
    """Nothing."""


def launch(url: str, executor: str) -> None:
    """Be a DBOS executor that serves the queue."""
    config = DBOSConfig(
        name="bench", system_database_url=url, application_version=VERSION, executor_id=executor,
        log_level="ERROR", max_executor_threads=THREADS,
    )  # fmt: skip
    DBOS(config=config)
    DBOS.launch()
    DBOS.register_queue(QUEUE, polling_interval_sec=POLL_S, on_conflict="always_update")


class _Dbos:
    name = ""
    processes = 1

    def __init__(self, place: Place) -> None:
        self.place = place
        self.url = ""
        self.service_pids: list[int] = []
        self.started_workers = 0

    def _finished(self) -> int:
        raise NotImplementedError

    def _engine_url(self) -> str:
        return self.url

    def _settle(self) -> None:
        """What a database in use would have had done to it; not timed."""

    def measure(self, count: int) -> Result:
        """Run every variant with `count` workflows and report the best."""
        probe.stop([self._start_worker()])  # creates the tables
        metrics, variants = self._with_workers(count)
        launch(self.url, "in-process")
        time.sleep(1.5)
        metrics |= self._singles()
        ways: dict[str, Callable[[int], None]] = {
            "direct": self._direct,
            "start": self._start,
            "queue": self._queue,
            "queue, bulk": self._bulk_and_wait,
        }
        for name, way in ways.items():
            self._settle()
            started = time.perf_counter()
            way(count)
            variants[name] = count / (time.perf_counter() - started)
        best = max(variants, key=lambda name: variants[name])
        rates = ", ".join(f"{name} {rate:.0f}" for name, rate in variants.items())
        notes = f"best of: {rates}"
        return Result(variants[best], count, count / variants[best], notes, metrics, variants)

    def _start_worker(self) -> subprocess.Popen[bytes]:
        self.started_workers += 1
        name = f"worker-{self.started_workers}"
        ready = self.place.folder / name
        command = [sys.executable, "-m", "bench.runs.peers.dbos_peer", self.url, name, str(ready)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        probe.wait_for_file(ready, process)
        return process

    def _with_workers(self, count: int) -> tuple[dict[str, float], dict[str, float]]:
        """Start-up and idle memory of one worker process, then the variants that need several."""
        metrics: dict[str, float] = {}
        variants: dict[str, float] = {}
        started = time.perf_counter()
        workers = [self._start_worker()]
        try:
            metrics["startup_s"] = time.perf_counter() - started
            time.sleep(1.0)
            metrics["idle_mb"] = probe.memory_mb([workers[0].pid, *self.service_pids])
            if self.processes > 1:
                workers += [self._start_worker() for _ in range(self.processes - 1)]
                time.sleep(1.5)
            before = self._finished()
            started = time.perf_counter()
            self._bulk(count)
            metrics["bulk_enqueue_per_s"] = count / (time.perf_counter() - started)
            self._wait_for(before + count)
            plural = "s" if self.processes > 1 else ""
            variants[f"queue, bulk, {self.processes} worker{plural}"] = count / (time.perf_counter() - started)
        finally:
            probe.stop(workers)
        return metrics, variants

    def _singles(self) -> dict[str, float]:
        before = self._finished()
        middle, high = probe.latency_ms(lambda: DBOS.enqueue_workflow(QUEUE, noop, 1), SINGLE_SAMPLES)
        self._wait_for(before + SINGLE_SAMPLES)
        return {"single_p50_ms": middle, "single_p99_ms": high}

    def _direct(self, count: int) -> None:
        for number in range(count):
            noop(number)

    def _start(self, count: int) -> None:
        for handle in [DBOS.start_workflow(noop, number) for number in range(count)]:
            handle.get_result()

    def _queue(self, count: int) -> None:
        before = self._finished()
        for number in range(count):
            DBOS.enqueue_workflow(QUEUE, noop, number)
        self._wait_for(before + count)

    def _bulk_and_wait(self, count: int) -> None:
        before = self._finished()
        self._bulk(count)
        self._wait_for(before + count)

    def _bulk(self, count: int) -> None:
        engine = sa.create_engine(self._engine_url())
        client = DBOSClient(system_database_url=self.url)
        try:
            with engine.begin() as connection:
                for number in range(count):
                    client.enqueue_in_transaction(
                        connection,
                        {"queue_name": QUEUE, "workflow_name": "noop", "app_version": VERSION},
                        number,
                    )
        finally:
            client.destroy()
            engine.dispose()

    def _wait_for(self, total: int) -> None:
        probe.wait_until(lambda: self._finished() >= total, TIMEOUT_S, "workflows", pause_s=0.02)


class DbosSqlite(_Dbos):
    """One file in WAL mode."""

    name = "dbos-sqlite"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        file = place.folder / "dbos.sqlite"
        self.url = f"sqlite:///{file}"
        self.connection = sqlite3.connect(file, isolation_level=None, timeout=30)
        self.connection.execute("PRAGMA journal_mode = WAL")

    def _finished(self) -> int:
        query = "SELECT count(*) FROM workflow_status WHERE status = 'SUCCESS'"
        return int(self.connection.execute(query).fetchone()[0])


class DbosPostgres(_Dbos):
    """PostgreSQL with default durability."""

    name = "dbos-postgres"
    processes = PROCESSES

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        server = place.services["postgres"]
        self.url = server.url
        self.service_pids = [server.pid]
        self.connection = psycopg.connect(server.url, autocommit=True)

    def _engine_url(self) -> str:
        return self.url.replace("postgresql://", "postgresql+psycopg://")

    def _settle(self) -> None:
        self.connection.execute("VACUUM ANALYZE")

    def _finished(self) -> int:
        row = self.connection.execute("SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'").fetchone()
        return int(row[0]) if row else 0


if __name__ == "__main__":
    launch(sys.argv[1], sys.argv[2])
    Path(sys.argv[3]).touch()
    while True:
        time.sleep(60)
