"""wreq and selectolax in one process, in a loop: what the machine can do."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import urldefrag, urljoin, urlsplit

import uvloop
import wreq
from selectolax.lexbor import LexborHTMLParser

from bench.crawl.sites import start_of
from bench.model import Place, Result

_AT_ONCE = 64


class Bare:
    name = "bare loop"

    def __init__(self, place: Place) -> None:
        self._start = start_of(place)

    def measure(self, count: int) -> Result:
        took_s = uvloop.run(self._crawl(count))
        return Result(count / took_s, count, took_s, f"nothing kept, {_AT_ONCE} at once")

    async def _crawl(self, count: int) -> float:
        client = wreq.Client()
        waiting: asyncio.Queue[str] = asyncio.Queue()
        origin = urlsplit(self._start)._replace(path="").geturl()
        seen = {self._start}
        waiting.put_nowait(self._start)
        done = 0
        over = asyncio.Event()

        async def reader() -> None:
            nonlocal done
            while True:
                url = await waiting.get()
                answer = await client.get(url)
                tree = LexborHTMLParser(bytes(await answer.bytes()).decode())
                assert tree.css_first("title") is not None
                for node in tree.css("a[href]"):
                    href = (node.attributes["href"] or "").partition("#")[0]
                    link = origin + href if href[:1] == "/" else urldefrag(urljoin(url, href))[0]
                    if link not in seen and link.startswith(origin) and link.endswith(".html"):
                        seen.add(link)
                        waiting.put_nowait(link)
                done += 1
                if done == count:
                    over.set()

        began = time.perf_counter()
        readers = [asyncio.create_task(reader()) for _ in range(_AT_ONCE)]
        await over.wait()
        took_s = time.perf_counter() - began
        for task in readers:
            task.cancel()
        return took_s
