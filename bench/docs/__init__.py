"""A real site: Python's own documentation as Debian packages it, some 500 pages of 95 KB, from its start page on.

The rows are those of the made-up site. A page of this one has hundreds of links, most of them to places in pages.
"""

from __future__ import annotations

from bench.model import Bench, Entry

_DOCS = ("docs",)

ENTRIES = (
    Entry("corral crawl", "bench.crawl.corral_side:CrawlDocs", "corral", 500, 100, _DOCS),
    Entry("bare loop", "bench.crawl.bare_side:Bare", "yardstick", 500, 100, _DOCS),
    Entry("durable loop", "bench.crawl.durable_side:Durable", "yardstick", 500, 100, _DOCS),
    Entry("crawlee", "bench.crawl.crawlee_side:Crawlee", "peer", 500, 50, _DOCS),
    Entry("scrapy", "bench.crawl.scrapy_side:Scrapy", "peer", 500, 50, _DOCS),
    Entry("crawlee, on disk", "bench.crawl.crawlee_side:CrawleeOnDisk", "peer", 500, 50, _DOCS),
    Entry("scrapy, on disk", "bench.crawl.scrapy_side:ScrapyOnDisk", "peer", 500, 50, _DOCS),
)

BENCH = Bench(name="docs", title="A documentation of 500 pages", unit="pages/s", entries=ENTRIES, aim=12.0)
