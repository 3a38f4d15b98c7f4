"""Steps of workflows per second: chains of ten no-op steps, each step durable before the next begins."""

from __future__ import annotations

from bench.model import Bench, Entry, Metric

ENTRIES = (
    Entry("corral", "bench.workflow.corral_side:Corral", "corral", 10_000, 1_000, timeout_s=600),
    Entry("dbos-sqlite", "bench.workflow.dbos_peer:DbosSqliteSteps", "peer", 1_000, 300),
    Entry("dbos-postgres", "bench.workflow.dbos_peer:DbosPostgresSteps", "peer", 1_000, 300, ("postgres",)),
)

BENCH = Bench(
    name="workflow",
    title="Workflows of ten no-op steps in a row",
    unit="steps/s",
    entries=ENTRIES,
    metrics=(Metric("one_workflow_ms", "one workflow of ten steps alone, ms"),),
    aim=10.0,
)
