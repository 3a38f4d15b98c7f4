"""An ordinary scraper with aiohttp; it knows nothing of Corral."""

import argparse
import asyncio
import json

import aiohttp


async def main(url: str) -> None:
    async with aiohttp.ClientSession(raise_for_status=True) as session:
        for number in range(3):
            async with session.get(f"{url}/{number}") as response:
                print(json.dumps(await response.json()))


parser = argparse.ArgumentParser()
parser.add_argument("--url", required=True)
asyncio.run(main(parser.parse_args().url))
