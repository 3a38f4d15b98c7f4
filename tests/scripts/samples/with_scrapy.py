"""An ordinary Scrapy spider as a script; it knows nothing of Corral."""

import argparse
import sys

import scrapy
from scrapy.crawler import CrawlerProcess

parser = argparse.ArgumentParser()
parser.add_argument("--url", required=True)
url = parser.parse_args().url
failed = []


class Spider(scrapy.Spider):
    name = "sample"
    custom_settings = {"FEEDS": {"stdout:": {"format": "jsonlines"}}, "RETRY_ENABLED": False, "LOG_LEVEL": "WARNING"}
    handle_httpstatus_list = [403, 429]

    async def start(self):
        for number in range(3):
            yield scrapy.Request(f"{url}/{number}", errback=failed.append)

    def parse(self, response):
        if response.status != 200:
            failed.append(response.status)
            return
        yield response.json()


process = CrawlerProcess()
process.crawl(Spider)
process.start()
sys.exit(1 if failed else 0)
