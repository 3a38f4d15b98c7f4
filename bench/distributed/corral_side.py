"""Corral, distributed: this process submits, Celery workers in processes of their own execute."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence

import psutil

from bench.model import Place, Result
from bench.probe import memory_mb, stop
from bench.services import free_port
from corral.domain.ids import RunId
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.queues import hint_of
from corral.domain.runs.run import NewRun
from corral.runtime.new_ids import new_id
from corral.runtime.process import serve
from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_client

_BULK = 200
_PROCESSES = os.cpu_count() or 1
_CONCURRENCY = 150
# Slow pages: how many each worker reads at once, and how long each takes.
_PAGES_AT_ONCE = 10
_PAGE_S = 0.2
_PAGES_FOR_S = 8.0

Drafted = tuple[NewRun, Sequence[EventDraft]]


def _run(kind: str, payload: dict[str, object]) -> Drafted:
    http = Strategy.HTTP
    run = NewRun(RunId(new_id()), None, kind, Priority.MEDIUM, 3, http, http, Payload(payload))
    return run, (EventDraft(EventKind.CREATED, {"resolved_strategy": "http"}),)


class Corral:
    name = "corral"

    def __init__(self, place: Place) -> None:
        self._place = place
        self._told = {
            "APP_TRANSPORT": "celery",
            "APP_DATA_DIR": str(place.folder / "var"),
            "APP_DATABASE_URL": place.services["postgres"].url,
            "APP_CELERY_BROKER_URL": place.services["redis"].url,
            "APP_EGRESS_ALLOW": "127.0.0.0/8:*",
            "APP_HOST_CONCURRENCY": "1000",
        }
        os.environ.update(self._told)

    @property
    def _settings(self) -> Settings:
        return load_settings()

    @contextlib.contextmanager
    def _worker(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", "corral", "worker", "--json", *arguments]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            assert b'"works"' in process.stdout.readline()
            yield process
        finally:
            stop([process])

    def measure(self, count: int) -> Result:
        """Enqueue `count` no-op runs to a waiting worker; stop the clock when the last one is on record as done."""
        began = time.perf_counter()
        size = ("--processes", str(_PROCESSES), "--concurrency", str(_CONCURRENCY))
        with self._worker("--beat", *size) as worker:
            metrics = {"startup_s": time.perf_counter() - began}
            time.sleep(0.5)
            metrics["idle_mb"] = memory_mb([worker.pid])
            seconds = serve(self._measure(count, metrics))
        notes = f"PostgreSQL with its default durability, 1 Celery worker of {_PROCESSES} processes × {_CONCURRENCY}"
        return Result(count / seconds, count, seconds, notes, metrics)

    async def _measure(self, count: int, metrics: dict[str, float]) -> float:
        async with self._client() as app:
            await _finished(app, [_run("selftest", {}) for _ in range(_BULK)])
            runs = [_run("selftest", {}) for _ in range(count)]
            began = time.perf_counter()
            metrics["bulk_enqueue_per_s"] = count / await _submitted(app, runs)
            await _drain(app)
            seconds = time.perf_counter() - began
            problems = await app.store.maintenance.audit()
        assert not problems, problems
        return seconds

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[App]:
        async with open_client(self._settings) as app:
            yield app

    def extras(self) -> dict[str, float]:
        """How far more workers get on a target that takes its time."""
        port = free_port()
        site = subprocess.Popen([sys.executable, "-m", "bench.distributed.slow_site", str(port), str(_PAGE_S)])
        try:
            told = {count: self._pages(count, f"http://127.0.0.1:{port}/") for count in (1, 2, 4)}
        finally:
            stop([site])
        rates = {count: rate for count, (rate, _) in told.items()}
        figures = {f"workers_{count}_per_s": rate for count, rate in rates.items()}
        figures |= {f"linear_{count}": rates[count] / (count * rates[1]) for count in (2, 4)}
        return figures | {f"busy_{count}": busy for count, (_, busy) in told.items()}

    def _pages(self, workers: int, url: str) -> tuple[float, float]:
        """Pages per second, and how busy the cores were meanwhile."""
        count = round(workers * _PAGES_AT_ONCE / _PAGE_S * (2.0 if self._place.quick else _PAGES_FOR_S))
        page = {"url": url, "fields": [{"name": "title"}], "respect_robots": False, "trusted_hosts": []}
        with contextlib.ExitStack() as stack:
            for _ in range(workers):
                size = ("--processes", "1", "--concurrency", str(_PAGES_AT_ONCE))
                stack.enter_context(self._worker("--beat", *size))
            seconds, busy = serve(self._submit_pages(count, page))
            return count / seconds, busy

    async def _submit_pages(self, count: int, page: dict[str, object]) -> tuple[float, float]:
        async with self._client() as app:
            await _finished(app, [_run("page", page) for _ in range(50)])
            runs = [_run("page", page) for _ in range(count)]
            psutil.cpu_percent()  # from here on
            began = time.perf_counter()
            await _finished(app, runs)
            return time.perf_counter() - began, psutil.cpu_percent() / 100


async def _submitted(app: App, runs: Sequence[Drafted]) -> float:
    began = time.perf_counter()
    assert app.hints is not None
    for start in range(0, len(runs), _BULK):
        batch = runs[start : start + _BULK]
        await app.store.runs.add(batch)
        app.hints.send([hint_of(run) for run, _ in batch])
    return time.perf_counter() - began


async def _finished(app: App, runs: Sequence[Drafted]) -> None:
    await _submitted(app, runs)
    await _drain(app)


async def _drain(app: App) -> None:
    while any((await app.store.runs.count_live()).values()):  # noqa: ASYNC110 - the database sends no notification
        await asyncio.sleep(0.02)
