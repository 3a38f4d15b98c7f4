"""Celery on Redis, in the two ways people run it.

`CeleryFast` is the fastest configuration: results ignored, early acknowledgement, Redis keeps nothing on
disk. Not durable: a killed worker loses what it had prefetched, a killed Redis loses everything.

`CeleryRecorded` is the nearest to a durable run: late acknowledgement, the result of every task stored in
Redis, and Redis appends to a file that it syncs once a second.

Both: prefork with one process per core and a pool of eight threads, tried in turn, the best is reported and
both are listed; a deep prefetch, JSON, no gossip, mingle, heartbeat or events, and one enqueuer that keeps
one producer open. The worker runs before the clock starts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

from bench import probe
from bench.model import Place, Result

SINGLE_SAMPLES = 200
TIMEOUT_S = 120.0
# The pool, and how many processes or threads it has.
SHAPES = (("prefork", os.cpu_count() or 1), ("threads", 8))


class _Celery:
    name = ""
    service = "redis"
    results = False
    acks_late = False
    prefetch = 64
    notes = ""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.broker = place.services[self.service]
        os.environ.update(
            BENCH_FOLDER=str(place.folder),
            BENCH_BROKER=self.broker.url,
            BENCH_RESULTS=self.broker.url.replace("/0", "/1") if self.results else "",
            BENCH_ACKS_LATE="1" if self.acks_late else "0",
            BENCH_PREFETCH=str(self.prefetch),
        )

    def _start_worker(self, pool: str, concurrency: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "-q", "-A", "bench.runs.peers.celery_app", "worker"]
        command += ["--pool", pool, "--concurrency", str(concurrency), "--loglevel", "ERROR"]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def measure(self, count: int) -> Result:
        """Enqueue `count` no-op tasks to a waiting worker; stop the clock when the last one is done."""
        results = [self._shape(count, *shape) for shape in SHAPES]
        self._check(len(results) * (count + SINGLE_SAMPLES))
        best = max(results, key=lambda result: result.rate_per_s)
        variants = {name: rate for result in results for name, rate in result.variants.items()}
        rates = ", ".join(f"{name} {rate:.0f}" for name, rate in variants.items())
        notes = f"{self.notes}; best of: {rates}"
        return Result(best.rate_per_s, count, best.seconds, notes, best.metrics, variants)

    def _shape(self, count: int, pool: str, concurrency: int) -> Result:
        ready = self.place.folder / "ready"
        ready.unlink(missing_ok=True)
        started = time.perf_counter()
        worker = self._start_worker(pool, concurrency)
        try:
            probe.wait_for_file(ready, worker)
            metrics = {"startup_s": time.perf_counter() - started}
            time.sleep(0.5)
            metrics["idle_mb"] = probe.memory_mb([worker.pid, self.broker.pid])
            seconds = self._load(count, metrics)
        finally:
            probe.stop([worker])
        return Result(count / seconds, count, seconds, "", metrics, {f"{pool} × {concurrency}": count / seconds})

    def _load(self, count: int, metrics: dict[str, float]) -> float:
        from bench.runs.peers import celery_app

        before = celery_app.done() + SINGLE_SAMPLES
        with celery_app.app.producer_pool.acquire(block=True) as producer:

            def enqueue() -> Any:
                return celery_app.noop.apply_async((1,), producer=producer)

            metrics["single_p50_ms"], metrics["single_p99_ms"] = probe.latency_ms(enqueue, SINGLE_SAMPLES)
            probe.wait_until(lambda: celery_app.done() == before, TIMEOUT_S, "warm-up tasks")
            started = time.perf_counter()
            for _ in range(count):
                enqueue()
            enqueued = time.perf_counter()
            probe.wait_until(lambda: celery_app.done() == before + count, TIMEOUT_S, "tasks")
            seconds = time.perf_counter() - started
        metrics["bulk_enqueue_per_s"] = count / (enqueued - started)
        return seconds

    def _check(self, expected: int) -> None:
        """With results on, every task must have one in Redis."""
        if not self.results:
            return
        import redis

        stored = redis.Redis.from_url(os.environ["BENCH_RESULTS"]).dbsize()
        if stored != expected:
            raise RuntimeError(f"{stored} results stored, expected {expected}")


class CeleryFast(_Celery):
    """Fastest, not durable."""

    name = "celery-fast"
    notes = "results ignored, early ack, Redis in memory only: not durable"


class CeleryRecorded(_Celery):
    """Completion recorded, late acknowledgement, append-only file."""

    name = "celery-recorded"
    service = "redis-aof"
    results = True
    acks_late = True
    notes = "results stored, late ack, Redis AOF synced each second"
