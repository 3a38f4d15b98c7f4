"""What a crawl's reader does with a page, in processor time: decoded, parsed, judged, its text, links and fingerprint.

Pages of Python's documentation as Debian packages it (some 90 KB), and the small pages of `bench crawl` (7 KB). Of each
page the fastest of several rounds counts, so that a busy machine matters little. The yardsticks are the parser alone
on the same pages.
"""

from __future__ import annotations

from bench.model import Bench, Entry, Metric

ENTRIES = (
    Entry("documentation", "bench.reading.sides:Documentation", "corral", 12, 3),
    Entry("small pages", "bench.reading.sides:SmallPages", "yardstick", 12, 3),
    Entry("documentation, only parsed", "bench.reading.sides:ParsedDocumentation", "yardstick", 12, 3),
    Entry("small pages, only parsed", "bench.reading.sides:ParsedSmallPages", "yardstick", 12, 3),
)

BENCH = Bench(
    name="reading",
    title="Reading a page of a crawl, processor time",
    unit="pages/s",
    entries=ENTRIES,
    metrics=(Metric("ms", "ms per page"),),
)
