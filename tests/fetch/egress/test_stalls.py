import asyncio
import time

from structlog.testing import capture_logs

from corral.runtime.loop_monitor import monitor_loop


async def test_a_loop_that_stood_still_is_told() -> None:
    with capture_logs() as lines:
        async with monitor_loop("worker"):
            await asyncio.sleep(0.1)
            time.sleep(0.6)
            await asyncio.sleep(0.1)
    [stall] = [line for line in lines if line["ms"] >= 500]
    assert (stall["event"], stall["who"], stall["log_level"]) == ("loop_stall", "worker", "warning")


async def test_a_loop_that_runs_is_not() -> None:
    with capture_logs() as lines:
        async with monitor_loop("worker"):
            for _ in range(10):
                await asyncio.sleep(0.01)
    assert [line for line in lines if line["ms"] < 250] == []


async def test_many_stalls_within_a_minute_are_one_line() -> None:
    with capture_logs() as lines:
        async with monitor_loop("worker"):
            for _ in range(3):
                await asyncio.sleep(0.1)
                time.sleep(0.4)
            await asyncio.sleep(0.1)
    at_once, the_rest = lines
    assert at_once["times"] == 1
    assert the_rest["times"] >= 2
