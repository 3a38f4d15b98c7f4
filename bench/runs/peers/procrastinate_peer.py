"""Procrastinate on PostgreSQL, with asynchronous no-op tasks.

Its best configuration here: jobs deferred in batches, which is one statement per batch, then drained by
worker processes with several asynchronous jobs each; LISTEN/NOTIFY on, finished jobs kept, as Corral
keeps its runs. The tables are vacuumed and analysed, and the workers up and listening,
before the clock starts.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import psycopg
from procrastinate import App, PsycopgConnector

from bench import probe
from bench.model import Place, Result

BATCH = 500
SINGLE_SAMPLES = 100
TIMEOUT_S = 120.0
# (worker processes, jobs at once in each): tried in turn, the best is reported.
SHAPES = ((1, 10), (2, 10))


def make_app(url: str, pool: int) -> App:
    """The application, the same for the deferring side and the workers."""
    app = App(connector=PsycopgConnector(conninfo=url, min_size=min(4, pool), max_size=pool))

    @app.task(name="noop", queue="bench")
    async def noop(number: int) -> None:
        """Nothing."""

    return app


async def work(url: str, concurrency: int, ready: Path) -> None:
    """Be a worker until ended."""
    app = make_app(url, concurrency)
    async with app.open_async():
        ready.touch()
        await app.run_worker_async(queues=["bench"], concurrency=concurrency, fetch_job_polling_interval=1.0)


class Procrastinate:
    """Batch deferral and a small set of worker processes."""

    name = "procrastinate"

    def __init__(self, place: Place) -> None:
        self.place = place
        self.server = place.services["postgres"]
        self.counting: psycopg.AsyncConnection[tuple[int]]

    async def measure(self, count: int) -> Result:
        """Defer `count` jobs to waiting workers; stop the clock when the last one has succeeded."""
        app = make_app(self.server.url, 4)
        connect = psycopg.AsyncConnection.connect(self.server.url, autocommit=True)
        async with app.open_async(), await connect as self.counting:
            await app.schema_manager.apply_schema_async()
            results = [await self._shape(app, count, *shape) for shape in SHAPES]
        best = max(results, key=lambda result: result.rate_per_s)
        variants = {name: rate for result in results for name, rate in result.variants.items()}
        rates = ", ".join(f"{name} {rate:.0f}" for name, rate in variants.items())
        notes = f"PostgreSQL, batch deferral, worker processes × jobs at once; best of: {rates}"
        return Result(best.rate_per_s, count, best.seconds, notes, best.metrics, variants)

    async def _shape(self, app: App, count: int, processes: int, concurrency: int) -> Result:
        started = time.perf_counter()
        workers, files = [], []
        for number in range(processes):
            ready = self.place.folder / f"ready-{processes}-{concurrency}-{number}"
            command = [sys.executable, "-m", "bench.runs.peers.procrastinate_peer", self.server.url]
            workers.append(subprocess.Popen([*command, str(concurrency), str(ready)], stdin=subprocess.DEVNULL))
            files.append(ready)
        try:
            for ready, worker in zip(files, workers, strict=True):
                probe.wait_for_file(ready, worker)
            metrics = {"startup_s": time.perf_counter() - started}
            await asyncio.sleep(1.0)
            metrics["idle_mb"] = probe.memory_mb([self.server.pid, *(worker.pid for worker in workers)])
            metrics |= await self._singles(app)
            await self.counting.execute("VACUUM ANALYZE")
            metrics["bulk_enqueue_per_s"], seconds = await self._load(app, count)
        finally:
            probe.stop(workers)
        shape = f"{processes} × {concurrency}"
        return Result(count / seconds, count, seconds, "", metrics, {shape: count / seconds})

    async def _singles(self, app: App) -> dict[str, float]:
        before = await self._succeeded()
        taken = []
        for number in range(SINGLE_SAMPLES):
            started = time.perf_counter()
            await app.tasks["noop"].defer_async(number=number)
            taken.append((time.perf_counter() - started) * 1000)
        await self._wait_for(before + SINGLE_SAMPLES)
        return {"single_p50_ms": probe.percentile(taken, 0.5), "single_p99_ms": probe.percentile(taken, 0.99)}

    async def _load(self, app: App, count: int) -> tuple[float, float]:
        before = await self._succeeded()
        started = time.perf_counter()
        for start in range(0, count, BATCH):
            batch = range(start, min(start + BATCH, count))
            await app.tasks["noop"].batch_defer_async(*({"number": number} for number in batch))
        enqueued = time.perf_counter()
        await self._wait_for(before + count)
        return count / (enqueued - started), time.perf_counter() - started

    async def _succeeded(self) -> int:
        query = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"
        row = await (await self.counting.execute(query)).fetchone()
        return int(row[0]) if row else 0

    async def _wait_for(self, total: int) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while await self._succeeded() < total:
            if time.monotonic() > deadline:
                raise TimeoutError(f"jobs not done within {TIMEOUT_S:.0f} s")
            await asyncio.sleep(0.03)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
