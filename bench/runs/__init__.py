"""Durable no-op runs per second, end to end, beside the task queues people would otherwise use.

Corral's side is `bench.runs.corral_side`; its rows appear when that module exists.
"""

from __future__ import annotations

from bench.model import Bench, Entry, Metric

_PEERS = "bench.runs.peers"

ENTRIES = (
    Entry("corral", "bench.runs.corral_side:Corral", "corral", 20_000, 3_000, timeout_s=600),
    Entry(
        "corral, 1M finished",
        "bench.runs.corral_side:CorralWithHistory",
        "history",
        20_000,
        3_000,
        timeout_s=1200,
    ),
    Entry("celery-fast", f"{_PEERS}.celery_peer:CeleryFast", "peer", 3_000, 600, ("redis",)),
    Entry("celery-recorded", f"{_PEERS}.celery_peer:CeleryRecorded", "peer", 2_000, 400, ("redis-aof",)),
    Entry("dbos-sqlite", f"{_PEERS}.dbos_peer:DbosSqlite", "peer", 500, 150),
    Entry("dbos-postgres", f"{_PEERS}.dbos_peer:DbosPostgres", "peer", 500, 150, ("postgres",)),
    Entry("procrastinate", f"{_PEERS}.procrastinate_peer:Procrastinate", "peer", 2_000, 400, ("postgres",)),
)

METRICS = (
    Metric("single_p50_ms", "single enqueue p50, ms"),
    Metric("single_p99_ms", "single enqueue p99, ms"),
    Metric("bulk_enqueue_per_s", "bulk enqueue, /s", higher_is_better=True),
    Metric("restart_first_claim_s", "100,000 queued, restart to first claim, s"),
    Metric("idle_mb", "idle memory, MB"),
    Metric("startup_s", "start-up, s"),
)

BENCH = Bench(
    name="runs",
    title="Durable no-op runs, end to end",
    unit="runs/s",
    entries=ENTRIES,
    metrics=METRICS,
    aim=10.0,
)
