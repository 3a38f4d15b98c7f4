"""An ordinary Crawlee crawler as a script; it knows nothing of Corral."""

import argparse
import asyncio
import json
import logging
import sys
from datetime import timedelta

from crawlee.configuration import Configuration
from crawlee.crawlers import HttpCrawler, HttpCrawlingContext

logging.disable(logging.INFO)


async def main(url: str) -> int:
    crawler = HttpCrawler(
        configuration=Configuration(purge_on_start=True, storage_dir="crawlee-storage"),
        max_request_retries=0,
        max_session_rotations=0,
        request_handler_timeout=timedelta(seconds=20),
    )

    @crawler.router.default_handler
    async def handle(context: HttpCrawlingContext) -> None:
        print(json.dumps(json.loads(await context.http_response.read())))

    statistics = await crawler.run([f"{url}/{number}" for number in range(3)])
    return 1 if statistics.requests_failed else 0


parser = argparse.ArgumentParser()
parser.add_argument("--url", required=True)
sys.exit(asyncio.run(main(parser.parse_args().url)))
