"""Scrapy as a spider of its users: links followed, an item for each page, everything in memory."""

from __future__ import annotations

import time
from typing import Any

import scrapy
from scrapy import signals
from scrapy.crawler import CrawlerProcess

from bench.model import Place, Result
from bench.pages import SITE, path_of

_SETTINGS = {
    "LOG_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
}


class Scrapy:
    name = "scrapy"

    def __init__(self, place: Place) -> None:
        self._site = place.services["site"].url

    def measure(self, count: int) -> Result:
        start = self._site + path_of(0)
        items: list[Any] = []
        moments: dict[str, float] = {}

        class Site(scrapy.Spider):
            name = "site"
            start_urls = (start,)

            def parse(self, response: Any) -> Any:
                text = " ".join(response.css("main ::text").getall())
                yield {"title": response.css("title::text").get(), "text": text}
                for href in response.css("a::attr(href)").getall():
                    yield response.follow(href)

        def keep(item: Any) -> None:
            items.append(item)

        # A count of zero is no limit.
        process = CrawlerProcess({**_SETTINGS, "CLOSESPIDER_ITEMCOUNT": count if count < SITE else 0})
        crawler = process.create_crawler(Site)
        crawler.signals.connect(lambda: moments.update(began=time.perf_counter()), signals.spider_opened, weak=False)
        crawler.signals.connect(lambda: moments.update(ended=time.perf_counter()), signals.spider_closed, weak=False)
        crawler.signals.connect(keep, signals.item_scraped, weak=False)
        process.crawl(crawler)
        process.start()
        assert len(items) >= count, f"{len(items)} of {count} pages"
        took_s = moments["ended"] - moments["began"]
        return Result(len(items) / took_s, len(items), took_s, "in memory, 64 at once")
