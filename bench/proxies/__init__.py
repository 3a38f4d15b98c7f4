"""Proxies checked per second: `corral proxy check` of proxies on loopback, with credentials sealed in the database."""

from __future__ import annotations

from bench.model import Bench, Entry, Metric

ENTRIES = (Entry("corral", "bench.proxies.corral_side:Corral", "corral", 10_000, 1000, timeout_s=300),)

BENCH = Bench(
    name="proxies",
    title="Checks of proxies: tunnel, echo page, anonymity, latency",
    unit="checks/s",
    entries=ENTRIES,
    metrics=(
        Metric("cpu_ms", "CPU time of Corral per check, ms"),
        Metric("import_s", "import of the list, s"),
        Metric("peak_mib", "peak memory of all processes, MiB"),
        Metric("idle_mib", "the same with one proxy, MiB"),
    ),
)
