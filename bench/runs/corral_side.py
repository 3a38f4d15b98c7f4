"""Corral, embedded: one process tree on a SQLite file, every run durable, two worker processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

from bench.model import Place, Result
from bench.probe import latency_ms, memory_mb
from corral.domain.ids import RunId
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import NewRun
from corral.runtime.new_ids import new_id
from corral.runtime.process import serve
from corral.settings import load_settings
from corral.store.open import open_store
from corral.wiring.app import App
from corral.wiring.roles import open_node

_BULK = 200
# Per worker. The default suits pages; runs that do nothing are only limited by how many are under way.
_CONCURRENCY = 150
_CLIENTS = 100
_HISTORY = 1_000_000


def _run() -> tuple[NewRun, Sequence[EventDraft]]:
    http = Strategy.HTTP
    run = NewRun(RunId(new_id()), None, "selftest", Priority.MEDIUM, 3, http, http, Payload({}))
    return run, (EventDraft(EventKind.CREATED, {"resolved_strategy": "http"}),)


class Corral:
    name = "corral"

    def __init__(self, place: Place) -> None:
        self._place = place
        self._data = place.folder / "var"

    def measure(self, count: int) -> Result:
        """On the event loop the command line uses."""
        return serve(self._measure(count))

    async def _measure(self, count: int) -> Result:
        """The best of two ways to hand the runs over: one by one from many callers, and in batches."""
        async with open_node(load_settings(data_dir=self._data, runs_per_process=_CONCURRENCY)) as app:
            await _warm_up(app)
            singly = await self._time_run(app, count, self._submit_singly)
            in_bulk = await self._time_run(app, count, self._submit_in_bulk)
            problems = await app.store.maintenance.audit() if count <= 50_000 and self.name == "corral" else []
        assert not problems, problems
        variants = {"one by one": count / singly, "in batches": count / in_bulk}
        best = min(singly, in_bulk)
        notes = f"SQLite, synchronous=FULL, 2 workers × {_CONCURRENCY}"
        return Result(count / best, count, best, notes, variants=variants)

    async def _time_run(self, app: App, count: int, submit: object) -> float:
        began = time.perf_counter()
        await submit(app, count)  # type: ignore[operator]
        await _drain(app)
        return time.perf_counter() - began

    async def _submit_singly(self, app: App, count: int) -> None:
        async def caller(share: int) -> None:
            for _ in range(share):
                await app.store.runs.add([_run()])
                app.node.wake()  # type: ignore[union-attr]

        await asyncio.gather(*(caller(count // _CLIENTS) for _ in range(_CLIENTS)))

    async def _submit_in_bulk(self, app: App, count: int) -> None:
        for _ in range(0, count, _BULK):
            await app.store.runs.add([_run() for _ in range(_BULK)])
            app.node.wake()  # type: ignore[union-attr]

    async def extras(self) -> dict[str, float]:
        queued = 5_000 if self._place.quick else 100_000
        figures = {"bulk_enqueue_per_s": await self._enqueue(queued)}
        figures["restart_first_claim_s"] = self._restart()
        with _up(self._place.folder / "fresh") as (_, process, startup_s):
            time.sleep(2)
            figures |= {"startup_s": startup_s, "idle_mb": memory_mb([process.pid])}
        figures |= self._post_latency()
        return figures

    async def _enqueue(self, count: int) -> float:
        store = open_store(load_settings(data_dir=self._data).store_url)
        began = time.perf_counter()
        for _ in range(0, count, _BULK):
            await store.runs.add([_run() for _ in range(_BULK)])
        rate = count / (time.perf_counter() - began)
        await store.close()
        return rate

    def _restart(self) -> float:
        """From starting the process to the first claim, with everything queued; measured in the database."""
        began_ms = time.time() * 1000
        with _up(self._data):
            while True:
                with contextlib.closing(sqlite3.connect(f"file:{self._data}/corral.db?mode=ro", uri=True)) as db:
                    first = db.execute("SELECT min(created_at) FROM events WHERE kind = 'started'").fetchone()[0]
                if first:
                    return float(first - began_ms) / 1000
                time.sleep(0.02)

    def _post_latency(self) -> dict[str, float]:
        """One client, one POST after the other, each a durable run."""
        target = _listening()
        with _up(self._place.folder / "post") as (url, _, _), httpx.Client(base_url=url, timeout=30) as client:
            body = {"target_url": target, "fields": ["title"], "strategy": "http", "timeout_s": 1, "max_attempts": 1}
            job = client.post("/jobs", json=body).json()["id"]
            p50, p99 = latency_ms(lambda: client.post(f"/jobs/{job}/runs").raise_for_status(), 500)
        return {"single_p50_ms": p50, "single_p99_ms": p99}


class CorralWithHistory(Corral):
    name = "corral, 1M finished"

    async def _measure(self, count: int) -> Result:
        history = 20_000 if self._place.quick else _HISTORY
        store = open_store(load_settings(data_dir=self._data).store_url)
        await store.close()
        _fill(self._data / "corral.db", history)
        result = await super()._measure(count)
        return Result(result.rate_per_s, count, result.seconds, f"{history:,} finished runs", {}, result.variants)

    async def extras(self) -> dict[str, float]:
        return {}


def _fill(path: Path, count: int) -> None:
    """Finished runs as the engine leaves them, with their three events each, older than everything to come."""
    began_ms = int(time.time() * 1000) - count - 60_000
    run = (
        "INSERT INTO runs (id, kind, state, priority, attempt, max_attempts, requested_strategy, resolved_strategy,"
        " payload, epoch, due_at, created_at, started_at, finished_at, seq)"
        " VALUES (?, 'selftest', 'completed', 2, 1, 3, 'http', 'http', '{}', 1, ?, ?, ?, ?, 3)"
    )
    event = "INSERT INTO events (run_id, seq, kind, meta, created_at) VALUES (?, ?, ?, '{\"attempt\":1}', ?)"
    kinds = ((1, "created"), (2, "started"), (3, "completed"))
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA synchronous=OFF")
        for start in range(0, count, 10_000):
            moments = [began_ms + number for number in range(start, min(start + 10_000, count))]
            ids = [f"{at:012x}"[:8] + "-" + f"{at:012x}"[8:] + "-7000-8000-" + f"{at:012x}" for at in moments]
            db.executemany(run, [(id_, at, at, at, at) for id_, at in zip(ids, moments, strict=True)])
            db.executemany(
                event, [(id_, seq, kind, at) for id_, at in zip(ids, moments, strict=True) for seq, kind in kinds]
            )
            db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def _warm_up(app: App) -> None:
    await app.store.runs.add([_run() for _ in range(_BULK)])
    await _drain(app)


async def _drain(app: App) -> None:
    while any((await app.store.runs.count_live()).values()):  # noqa: ASYNC110 - the database sends no notification
        await asyncio.sleep(0.01)


def _listening() -> str:
    """A target that accepts and never answers, so that only Corral's own work is measured."""
    server = socket.create_server(("127.0.0.1", 0), backlog=1024)
    _kept.append(server)
    return f"http://127.0.0.1:{server.getsockname()[1]}/"


_kept: list[socket.socket] = []


@contextlib.contextmanager
def _up(data: Path) -> Iterator[tuple[str, subprocess.Popen[bytes], float]]:
    """`corral up` in its own process; how long it took until it was ready."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    variables = {**os.environ, "APP_DATA_DIR": str(data), "APP_EGRESS_ALLOW": "127.0.0.0/8:*"}
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "corral", "up", "--port", str(port)],
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{url}/ready", timeout=2).status_code == 200:
                    break
            assert process.poll() is None, "corral up ended before it was ready"
            time.sleep(0.005)
        yield url, process, time.perf_counter() - began
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
