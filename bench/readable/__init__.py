"""The readable text of pages: pages per second on one core, and how much of the text is right.

The pages are made here (`pages.py`), so their text is known: articles and documentation in eight layouts. F1 is taken
over the words in runs of four, as benchmarks of article extraction do.
"""

from __future__ import annotations

from bench.model import Bench, Entry, Metric

ENTRIES = (
    Entry("corral", "bench.readable.sides:Corral", "corral", 2_000, 200),
    Entry("trafilatura", "bench.readable.sides:Trafilatura", "peer", 400, 80),
    Entry("readability-lxml", "bench.readable.sides:ReadabilityLxml", "peer", 400, 80),
    Entry("resiliparse", "bench.readable.sides:Resiliparse", "peer", 2_000, 200),
)

BENCH = Bench(
    name="readable",
    title="Readable text of articles and documentation",
    unit="pages/s",
    entries=ENTRIES,
    metrics=(
        Metric("f1", "F1", higher_is_better=True),
        Metric("precision", "precision", higher_is_better=True),
        Metric("recall", "recall", higher_is_better=True),
    ),
)
