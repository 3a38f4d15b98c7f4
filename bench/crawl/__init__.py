"""A site of 5,000 pages of 7 KB with 15 links each, crawled from its first page to its last.

Corral's row is durable: every page, its record and its links are on disk before it counts. The peers are at their
quickest, in memory; and, in rows of their own, with what they have to do and what they found kept on disk. The bare
loop is no crawler: it fetches, parses, remembers what it has seen, and keeps nothing. The durable loop keeps all of it,
and does nothing else.
"""

from __future__ import annotations

from bench.model import Bench, Entry

_SITE = ("site",)

ENTRIES = (
    Entry("corral crawl", "bench.crawl.corral_side:Crawl", "corral", 5_000, 500, _SITE),
    Entry("bare loop", "bench.crawl.bare_side:Bare", "yardstick", 5_000, 500, _SITE),
    Entry("durable loop", "bench.crawl.durable_side:Durable", "yardstick", 5_000, 500, _SITE),
    Entry("crawlee", "bench.crawl.crawlee_side:Crawlee", "peer", 5_000, 500, _SITE),
    Entry("scrapy", "bench.crawl.scrapy_side:Scrapy", "peer", 5_000, 500, _SITE),
    Entry("crawlee, on disk", "bench.crawl.crawlee_side:CrawleeOnDisk", "peer", 2_000, 200, _SITE),
    Entry("scrapy, on disk", "bench.crawl.scrapy_side:ScrapyOnDisk", "peer", 2_000, 200, _SITE),
)

BENCH = Bench(name="crawl", title="A site of 5,000 pages", unit="pages/s", entries=ENTRIES, aim=5.0)
