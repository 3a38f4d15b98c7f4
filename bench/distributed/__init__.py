"""Durable no-op runs per second over PostgreSQL, Redis and Celery, beside bare Celery no-ops on the same broker.

And what more workers bring where the target is what takes the time: 200 ms for each page.
"""

from __future__ import annotations

from bench.model import Bench, Entry, Metric

ENTRIES = (
    Entry("corral", "bench.distributed.corral_side:Corral", "corral", 4_000, 800, ("redis", "postgres"), timeout_s=600),
    Entry("celery, bare", "bench.runs.peers.celery_peer:CeleryFast", "peer", 4_000, 800, ("redis",), timeout_s=600),
)

METRICS = (
    Metric("bulk_enqueue_per_s", "enqueue, /s", higher_is_better=True),
    Metric("startup_s", "start-up of a worker, s"),
    Metric("idle_mb", "idle memory of a worker, MB"),
    Metric("workers_1_per_s", "pages of 200 ms, 1 worker × 10, /s", higher_is_better=True),
    Metric("workers_2_per_s", "… 2 workers, /s", higher_is_better=True),
    Metric("workers_4_per_s", "… 4 workers, /s", higher_is_better=True),
    Metric("linear_2", "… 2 workers, of linear", higher_is_better=True),
    Metric("linear_4", "… 4 workers, of linear", higher_is_better=True),
    Metric("busy_1", "… cores busy with 1 worker, of all", higher_is_better=False),
    Metric("busy_2", "… cores busy with 2 workers, of all", higher_is_better=False),
    Metric("busy_4", "… cores busy with 4 workers, of all", higher_is_better=False),
)

BENCH = Bench(
    name="distributed",
    title="Durable no-op runs over PostgreSQL, Redis and Celery",
    unit="runs/s",
    entries=ENTRIES,
    metrics=METRICS,
    aim=0.8,
)
