"""What an installation costs that does nothing: memory of all its processes, time to its first answer, time to stop.

Memory is the sum of the proportional set sizes: a page that several processes share counts once.
"""

from __future__ import annotations

from bench.model import Bench, Entry, Metric

ENTRIES = (
    Entry("up", "bench.idle.corral_side:Up", "corral", 1, 1),
    Entry("up, PostgreSQL", "bench.idle.corral_side:UpOnPostgres", "corral", 1, 1, ("postgres",)),
    Entry("up --distributed, 2 workers", "bench.idle.corral_side:Distributed", "corral", 2, 2),
    Entry(
        "up --distributed, 2 workers, PostgreSQL",
        "bench.idle.corral_side:DistributedOnPostgres",
        "corral",
        2,
        2,
        ("postgres",),
    ),
)

METRICS = (
    Metric("processes", "processes"),
    Metric("largest_mb", "largest process, MB"),
    Metric("first_answer_s", "first answer of /health after, s"),
    Metric("first_answer_cpu_s", "… processor time of all processes until then, s"),
    Metric("all_up_s", "everything up after, s"),
    Metric("stop_s", "stopped after, s"),
)

BENCH = Bench(name="idle", title="An idle installation", unit="MB", entries=ENTRIES, metrics=METRICS)
