"""Scripts per second: a queue file drained by Corral beside `xargs -P` with the same commands.

Overhead per task is the time of a task minus the time `xargs -P` needs for it, on the same number of slots.
"""

from __future__ import annotations

from bench.model import Bench, Entry, Metric

ENTRIES = (
    Entry("corral", "bench.queue.sides:Corral", "corral", 400, 100, timeout_s=300),
    Entry("xargs -P", "bench.queue.sides:Xargs", "peer", 400, 100),
)

BENCH = Bench(
    name="queue",
    title="Tasks of the queue: a shell script that prints one record",
    unit="tasks/s",
    entries=ENTRIES,
    metrics=(
        Metric("overhead_ms", "overhead per task beside xargs, ms"),
        Metric("import_s", "import of 100,000 tasks, s"),
    ),
)
