import asyncio
import time

import pytest

from corral.fetch import coarse_timeout
from corral.fetch.coarse_timeout import CoarseTimeout
from tests.slack import SLACK


@pytest.mark.parametrize("exact_below_s", [0.0, 10.0])
async def test_what_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch, exact_below_s: float) -> None:
    monkeypatch.setattr(coarse_timeout, "_EXACT_BELOW_S", exact_below_s)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        async with CoarseTimeout(0.1):
            await asyncio.sleep(30)
    assert 0.1 <= time.monotonic() - began < 4 * SLACK
    async with CoarseTimeout(0.3):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.4)  # a limit that was kept comes to nothing


async def test_a_limit_inside_another_ends_only_what_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse_timeout, "_EXACT_BELOW_S", 0.0)
    async with CoarseTimeout(30):
        with pytest.raises(TimeoutError):
            async with CoarseTimeout(0.05):
                await asyncio.sleep(30)
        await asyncio.sleep(0)
    async with CoarseTimeout(None):
        await asyncio.sleep(0)


async def test_who_is_cancelled_hears_of_it_and_not_of_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse_timeout, "_EXACT_BELOW_S", 0.0)

    async def patiently() -> None:
        async with CoarseTimeout(30):
            await asyncio.sleep(30)

    task = asyncio.create_task(patiently())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
