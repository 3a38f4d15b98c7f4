"""A watchdog kills once, after the time without a restart or as soon as the process is stuck."""

import asyncio

from corral.runtime.watchdog import Watchdog

LONG_S = 3600.0


class _Process:
    def __init__(self) -> None:
        self.killed = asyncio.Event()
        self.kills = 0

    def kill(self) -> None:
        self.kills += 1
        self.killed.set()


async def test_it_kills_what_is_not_restarted_in_time() -> None:
    process = _Process()
    watchdog = Watchdog(0.0, process.kill)
    assert not watchdog.has_killed
    await process.killed.wait()
    assert (watchdog.has_killed, process.kills) == (True, 1)


async def test_it_kills_what_is_stuck_before_its_time_is_over() -> None:
    process = _Process()
    checks = iter((False, True))
    watchdog = Watchdog(LONG_S, process.kill, lambda: next(checks))
    await process.killed.wait()
    assert watchdog.has_killed


async def test_a_restart_postpones_the_end() -> None:
    process = _Process()
    watchdog = Watchdog(0.0, process.kill)
    watchdog._wall_s = LONG_S
    watchdog.restart()
    await asyncio.sleep(0.4)  # longer than the time between two checks
    watchdog.end()
    assert not watchdog.has_killed


async def test_after_its_end_it_kills_nothing() -> None:
    process = _Process()
    Watchdog(0.0, process.kill).end()
    await asyncio.sleep(0.4)
    assert process.kills == 0
