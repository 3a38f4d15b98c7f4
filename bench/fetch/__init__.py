"""The whole way of a page, durable, beside clients that only download it.

Corral's rows are runs: submitted, claimed, fetched under the guard, parsed apart, recorded, with their history.
The peers get the bytes and forget them; each has one process, as their users have, and as much at once as suits it.
The loop reads and keeps what Corral does, and nothing else of what Corral does.
"""

from __future__ import annotations

from bench.model import Bench, Entry

_PAGES = ("pages",)

ENTRIES = (
    Entry("corral scrape", "bench.fetch.corral_side:Scrape", "corral", 6_000, 600, _PAGES),
    Entry("a loop for the same", "bench.fetch.same_work:SameWork", "yardstick", 6_000, 600, _PAGES),
    Entry("bare wreq", "bench.fetch.clients:BareWreq", "peer", 6_000, 600, _PAGES),
    Entry("aiohttp", "bench.fetch.clients:Aiohttp", "peer", 4_000, 400, _PAGES),
    Entry("httpx", "bench.fetch.clients:Httpx", "peer", 1_500, 150, _PAGES),
    Entry("scrapy downloader", "bench.fetch.scrapy_side:ScrapyDownloader", "peer", 2_000, 200, _PAGES),
)

BENCH = Bench(
    name="fetch",
    title="Pages of 7 KB from nginx",
    unit="pages/s",
    entries=ENTRIES,
    aim=0.5,
)
