"""Scrapy as a spider of its users: links followed, an item for each page, everything in memory."""

from __future__ import annotations

import time
from typing import Any

import scrapy
from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse

from bench.crawl.sites import start_of
from bench.model import Place, Result
from bench.pages import SITE

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
    is_durable = False

    def __init__(self, place: Place) -> None:
        self._start = start_of(place)
        self._folder = place.folder

    def measure(self, count: int) -> Result:
        start = self._start
        items: list[Any] = []
        moments: dict[str, float] = {}

        class Site(scrapy.Spider):
            name = "site"
            start_urls = (start,)
            allowed_domains = ("127.0.0.1",)

            def parse(self, response: Any) -> Any:
                if not isinstance(response, HtmlResponse):
                    return
                text = " ".join(response.css("main ::text").getall())
                yield {"title": response.css("title::text").get(), "text": text}
                for href in response.css("a::attr(href)").getall():
                    yield response.follow(href)

        def keep(item: Any) -> None:
            items.append(item)

        settings: dict[str, Any] = {
            **_SETTINGS,
            "CLOSESPIDER_ITEMCOUNT": count if count < SITE else 0,
        }  # zero: no limit
        if self.is_durable:
            items_at = str(self._folder / "items.jsonl")
            settings |= {"JOBDIR": str(self._folder / "job"), "FEEDS": {items_at: {"format": "jsonlines"}}}
        process = CrawlerProcess(settings)
        crawler = process.create_crawler(Site)
        crawler.signals.connect(lambda: moments.update(began=time.perf_counter()), signals.spider_opened, weak=False)
        crawler.signals.connect(lambda: moments.update(ended=time.perf_counter()), signals.spider_closed, weak=False)
        crawler.signals.connect(keep, signals.item_scraped, weak=False)
        process.crawl(crawler)
        process.start()
        assert len(items) >= count, f"{len(items)} of {count} pages"
        took_s = moments["ended"] - moments["began"]
        where = "requests and items on disk" if self.is_durable else "in memory"
        return Result(len(items) / took_s, len(items), took_s, f"{where}, 64 at once")


class ScrapyOnDisk(Scrapy):
    name = "scrapy, on disk"
    is_durable = True
