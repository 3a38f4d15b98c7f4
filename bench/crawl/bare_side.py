"""wreq and selectolax in one process, in a loop: what the machine can do."""

from __future__ import annotations

import asyncio
import time

import uvloop
import wreq
from selectolax.lexbor import LexborHTMLParser

from bench.model import Place, Result
from bench.pages import path_of

_AT_ONCE = 64


class Bare:
    name = "bare loop"

    def __init__(self, place: Place) -> None:
        self._site = place.services["site"].url

    def measure(self, count: int) -> Result:
        took_s = uvloop.run(self._crawled(count))
        return Result(count / took_s, count, took_s, f"nothing kept, {_AT_ONCE} at once")

    async def _crawled(self, count: int) -> float:
        client = wreq.Client()
        waiting: asyncio.Queue[str] = asyncio.Queue()
        seen = {"/" + path_of(0)}
        waiting.put_nowait("/" + path_of(0))
        done = 0
        over = asyncio.Event()

        async def reader() -> None:
            nonlocal done
            while True:
                path = await waiting.get()
                answer = await client.get(self._site + path[1:])
                tree = LexborHTMLParser(bytes(await answer.bytes()).decode())
                assert tree.css_first("title") is not None
                for node in tree.css("a[href]"):
                    href = node.attributes["href"] or ""
                    if href not in seen:
                        seen.add(href)
                        waiting.put_nowait(href)
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
