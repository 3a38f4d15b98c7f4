"""What the tests of the parsing pool share."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from corral.domain.fields.spec import FieldSpec
from corral.extract.page_reader import ReadRequest
from corral.fetch.parsing.messages import ReaderLimits
from corral.fetch.parsing.pool import ParsePool
from tests import forked

URL = "http://hostile.example/page"
ORDINARY = b"<html><head><title>A page</title></head><body><p class=price>9.50</p></body></html>"
SLOW = b"<title>slow</title><div " + b" ".join(b"%x" % number for number in range(10_000)) + b">x</div>"


def a_request(body: bytes, *fields: FieldSpec) -> ReadRequest:
    asked = fields or (FieldSpec("title"), FieldSpec("price"))
    return ReadRequest(body, URL, URL, 200, (("content-type", "text/html"),), asked)


@asynccontextmanager
async def open_pool(
    limits: ReaderLimits | None = None, size: int = 1, *, is_forked: bool = True
) -> AsyncIterator[ParsePool]:
    """A pool with its processes started; none of them is left afterwards.

    Its processes are forks, see tests/forked, except for tests of their memory and of their end.
    """
    pool = ParsePool(size, limits)
    with forked.fork_processes() if is_forked else nullcontext():
        await pool.read(a_request(ORDINARY))
        try:
            yield pool
        finally:
            pids = pool.pids
            await pool.close()
            await wait_until_gone(pids)


async def wait_until_gone(pids: Iterable[int], within_s: float = 5) -> None:
    """A zombie is not gone."""
    ends_at = time.monotonic() + within_s
    while left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < ends_at, f"still there: {left}"
        await asyncio.sleep(0.02)


@dataclass
class Lag:
    worst_s: float = 0.0


@asynccontextmanager
async def measure_lag() -> AsyncIterator[Lag]:
    lag = Lag()

    async def tick() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            lag.worst_s = max(lag.worst_s, time.monotonic() - before - 0.01)

    ticking = asyncio.create_task(tick())
    try:
        yield lag
    finally:
        ticking.cancel()
