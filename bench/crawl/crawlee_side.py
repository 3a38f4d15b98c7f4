"""Crawlee's Parsel crawler in memory, at its quickest."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from typing import Any

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import FileSystemStorageClient, MemoryStorageClient

from bench.crawl.sites import start_of
from bench.model import Place, Result

_AT_ONCE = 64


class Crawlee:
    name = "crawlee"
    is_durable = False

    def __init__(self, place: Place) -> None:
        self._start = start_of(place)
        os.environ["CRAWLEE_STORAGE_DIR"] = str(place.folder / "storage")

    def measure(self, count: int) -> Result:
        took_s, found = asyncio.run(self._crawl(count))
        assert found >= count, f"{found} of {count} pages"
        return Result(
            found / took_s, found, took_s, f"{'on disk' if self.is_durable else 'in memory'}, {_AT_ONCE} at once"
        )

    async def _crawl(self, count: int) -> tuple[float, int]:
        moments: list[float] = []
        found: list[dict[str, Any]] = []
        crawler = ParselCrawler(
            storage_client=FileSystemStorageClient() if self.is_durable else MemoryStorageClient(),
            max_requests_per_crawl=count,
            concurrency_settings=ConcurrencySettings(
                min_concurrency=_AT_ONCE, max_concurrency=_AT_ONCE, desired_concurrency=_AT_ONCE
            ),
            configure_logging=False,
        )
        logging.getLogger("crawlee").setLevel(logging.CRITICAL)

        @crawler.router.default_handler
        async def handle(context: ParselCrawlingContext) -> None:
            moments.append(time.perf_counter())
            text = " ".join(context.selector.css("main ::text").getall())
            found.append({"title": context.selector.css("title::text").get(), "text": text})
            if self.is_durable:
                await context.push_data(found[-1])
            await context.enqueue_links()
            moments.append(time.perf_counter())

        await crawler.run([self._start])
        return max(moments) - min(moments), len(found)


class CrawleeOnDisk(Crawlee):
    name = "crawlee, on disk"
    is_durable = True
