"""Crawlee's Parsel crawler in memory, at its quickest."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from typing import Any

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient

from bench.model import Place, Result
from bench.pages import path_of

_AT_ONCE = 64


class Crawlee:
    name = "crawlee"

    def __init__(self, place: Place) -> None:
        self._site = place.services["site"].url
        os.environ["CRAWLEE_STORAGE_DIR"] = str(place.folder / "storage")

    def measure(self, count: int) -> Result:
        took_s, found = asyncio.run(self._crawled(count))
        assert found >= count, f"{found} of {count} pages"
        return Result(found / took_s, found, took_s, f"in memory, {_AT_ONCE} at once")

    async def _crawled(self, count: int) -> tuple[float, int]:
        moments: list[float] = []
        found: list[dict[str, Any]] = []
        crawler = ParselCrawler(
            storage_client=MemoryStorageClient(),
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
            await context.enqueue_links()
            moments.append(time.perf_counter())

        await crawler.run([self._site + path_of(0)])
        return max(moments) - min(moments), len(found)
