"""Crawlee's Playwright crawler with the same Chromium, at its quickest: nothing on disk, one shared context."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from typing import Any

from crawlee import ConcurrencySettings, Request
from crawlee.crawlers import PlaywrightCrawler, PlaywrightCrawlingContext
from crawlee.storage_clients import MemoryStorageClient

from bench.model import Place, Result
from corral.demo.content import PRODUCT_COUNT
from corral.fetch.browser.launch_args import find_chromium

_AT_ONCE = (1, 2, 4)
_FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-gpu"]


class Crawlee:
    name = "crawlee playwright"

    def __init__(self, place: Place) -> None:
        self._site = place.services["shop"].url
        os.environ["CRAWLEE_STORAGE_DIR"] = str(place.folder / "storage")

    def measure(self, count: int) -> Result:
        variants = {f"{at_once} at once": count / asyncio.run(self._time_run(count, at_once)) for at_once in _AT_ONCE}
        best = max(variants.values())
        notes = "; ".join(f"{name} {rate:.1f}" for name, rate in variants.items())
        return Result(best, count, count / best, f"in memory, one context for all pages; {notes}", variants=variants)

    async def _time_run(self, count: int, at_once: int) -> float:
        """From the first page to the last: starting Python and the browser is not counted."""
        moments: list[float] = []
        found: list[dict[str, Any]] = []
        crawler = PlaywrightCrawler(
            storage_client=MemoryStorageClient(),
            browser_launch_options={"executable_path": find_chromium(), "args": _FLAGS},
            fingerprint_generator=None,
            concurrency_settings=ConcurrencySettings(
                min_concurrency=at_once, max_concurrency=at_once, desired_concurrency=at_once
            ),
            configure_logging=False,
        )
        logging.getLogger("crawlee").setLevel(logging.CRITICAL)

        @crawler.router.default_handler
        async def handle(context: PlaywrightCrawlingContext) -> None:
            moments.append(time.perf_counter())
            await context.page.wait_for_selector(".price:not(:empty)")
            name, price = await context.page.inner_text("h1"), await context.page.inner_text(".price")
            found.append({"name": name, "price": price})
            moments.append(time.perf_counter())

        urls = [f"{self._site}/shop/{number % PRODUCT_COUNT + 1}" for number in range(count + 1)]
        # The queue outlives a crawler: what the one before has done would count as done.
        await crawler.run([Request.from_url(url, unique_key=f"{at_once}-{number}") for number, url in enumerate(urls)])
        assert len(found) == count + 1, f"{len(found)} of {count + 1} pages"
        assert all(each["name"] and each["price"] for each in found), found[:3]
        return max(moments) - min(moments)
