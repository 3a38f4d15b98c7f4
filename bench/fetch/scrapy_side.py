"""Scrapy with everything switched off that is not needed to download: no robots.txt, no retries, no statistics dump."""

from __future__ import annotations

import time
from typing import Any

import scrapy
from scrapy import signals
from scrapy.crawler import CrawlerProcess

from bench.model import Place, Result
from bench.pages import path_of

_SETTINGS = {
    "LOG_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "RETRY_ENABLED": False,
    "COOKIES_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
}


class ScrapyDownloader:
    name = "scrapy downloader"

    def __init__(self, place: Place) -> None:
        self._site = place.services["pages"].url

    def measure(self, count: int) -> Result:
        urls = [f"{self._site}{path_of(number)}" for number in range(count)]
        seen: list[int] = []
        moments: dict[str, float] = {}

        class Pages(scrapy.Spider):
            name = "pages"

            async def start(self) -> Any:
                for url in urls:
                    yield scrapy.Request(url, dont_filter=True)

            def parse(self, response: Any) -> None:
                seen.append(len(response.body))

        process = CrawlerProcess(_SETTINGS)
        crawler = process.create_crawler(Pages)
        crawler.signals.connect(
            lambda: moments.setdefault("began", time.perf_counter()), signals.spider_opened, weak=False
        )
        crawler.signals.connect(
            lambda: moments.setdefault("ended", time.perf_counter()), signals.spider_closed, weak=False
        )
        process.crawl(crawler)
        process.start()
        assert len(seen) == count, f"{len(seen)} of {count} pages"
        took_s = moments["ended"] - moments["began"]
        return Result(count / took_s, count, took_s, "download only, 64 at once")


def _note(moments: dict[str, float], name: str) -> None:
    moments[name] = time.perf_counter()
