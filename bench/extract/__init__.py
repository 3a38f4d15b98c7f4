"""Ten css fields of a page: pages per second on one core, from the bytes of a page to its record.

Corral's row is what its readers do for every page of a job: decode, check the depth, parse, find the fields, and judge
whether the page is one at all (a block page, a login, a captcha). The peers parse the bytes and take the same ten
fields, with addresses made absolute; they judge nothing. The fields have no types: their conversion is measured by
`bench libraries`. The pages are made
here (`pages.py`): a product, an article, a list of cards and a long reference, from 4 to 60 KB. Before it is measured,
each side shows that it finds the same values.
"""

from __future__ import annotations

from bench.model import Bench, Entry, Metric

ENTRIES = (
    Entry("corral", "bench.extract.sides:Corral", "corral", 4_000, 200),
    Entry("parsel", "bench.extract.sides:Parsel", "peer", 1_000, 100),
    Entry("beautifulsoup, lxml", "bench.extract.sides:BeautifulSoupLxml", "peer", 200, 20),
    Entry("scrapling", "bench.extract.sides:Scrapling", "peer", 1_000, 100),
    Entry("bare selectolax", "bench.extract.sides:Selectolax", "yardstick", 4_000, 200),
)

BENCH = Bench(
    name="extract",
    title="Ten css fields of a page",
    unit="pages/s",
    entries=ENTRIES,
    metrics=tuple(
        Metric(kind, f"{kind}: pages/s", higher_is_better=True) for kind in ("product", "article", "list", "reference")
    ),
    aim=2.0,
)
