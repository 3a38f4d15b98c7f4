"""Bare clients: ask, read the body to its end, count. Nothing is parsed, kept or checked but the title's bytes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import aiohttp
import httpx
import uvloop
import wreq

from bench.model import Place, Result
from bench.pages import path_of

_AT_ONCE = (16, 64)

Get = Callable[[str], Awaitable[bytes]]


class _Client:
    name = ""

    def __init__(self, place: Place) -> None:
        self._site = place.services["pages"].url

    def measure(self, count: int) -> Result:
        """The best of a few and of many at once, on the event loop that Corral uses."""
        variants = {f"{at_once} at once": count / uvloop.run(self._time_run(count, at_once)) for at_once in _AT_ONCE}
        best = max(variants.values())
        notes = "; ".join(f"{name} {rate:,.0f}" for name, rate in variants.items())
        return Result(best, count, count / best, f"download only, one process; {notes}", variants=variants)

    async def _time_run(self, count: int, at_once: int) -> float:
        return await self._with_client(at_once, lambda get: _downloaded(get, self._site, count, at_once))

    async def _with_client(self, at_once: int, work: Callable[[Get], Awaitable[float]]) -> float:
        raise NotImplementedError


async def _downloaded(get: Get, site: str, count: int, at_once: int) -> float:
    urls = iter([f"{site}{path_of(number)}" for number in range(count)])

    async def caller() -> None:
        for url in urls:
            assert b"<title>Page" in await get(url)

    await get(f"{site}{path_of(0)}")
    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(at_once)))
    return time.perf_counter() - began


class BareWreq(_Client):
    name = "bare wreq"

    async def _with_client(self, at_once: int, work: Callable[[Get], Awaitable[float]]) -> float:
        client = wreq.Client()

        async def get(url: str) -> bytes:
            answer = await client.get(url)
            return bytes(await answer.bytes())

        return await work(get)


class Aiohttp(_Client):
    name = "aiohttp"

    async def _with_client(self, at_once: int, work: Callable[[Get], Awaitable[float]]) -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)) as session:

            async def get(url: str) -> bytes:
                async with session.get(url) as answer:
                    return await answer.read()

            return await work(get)


class Httpx(_Client):
    name = "httpx"

    async def _with_client(self, at_once: int, work: Callable[[Get], Awaitable[float]]) -> float:
        limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:

            async def get(url: str) -> bytes:
                return (await client.get(url)).content

            return await work(get)
