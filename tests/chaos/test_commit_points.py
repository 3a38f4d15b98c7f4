"""Killed exactly before or after any commit, the stack loses nothing, does nothing twice, and comes back in time."""

import asyncio
import multiprocessing
import signal
import tempfile
import threading
import time
from multiprocessing import connection
from pathlib import Path

import pytest

from tests import services
from tests.chaos import workload
from tests.chaos.history import check
from tests.chaos.level import LEVEL, by_level, make_random
from tests.chaos.report import report
from tests.chaos.stack import SETTINGS

# Forked from a process that has everything imported: starting a hundred of them costs next to nothing.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([workload.__name__, "pytest"])
# Starting a process asks all others how they ended; asked by two threads at once, one is told nonsense.
ONE_AT_A_TIME = threading.Lock()
LATER_S: dict[str, list[float]] = {"sqlite": [], "postgresql": []}
SIDES = ("before", "after")
LEASE_S = 10.0
# On a machine with many of these at once, processes start slowly.
NOISE_S = 15.0
AT_ONCE = 24


def run_workload(url: str, folder: Path, *, again: bool, env: dict[str, str] | None = None) -> tuple[int, float]:
    """How it ended, and how long it took."""
    began = time.monotonic()
    given = {**SETTINGS, "workers": 1, "data_dir": str(folder), "database_url": url}
    given |= {"journal": str(folder / "journal"), "again": again}
    process = FORKS.Process(target=workload.main, args=(given, env or {}, folder / "log"))
    with ONE_AT_A_TIME:
        process.start()
    connection.wait([process.sentinel], 110)
    with ONE_AT_A_TIME:
        code = process.exitcode
        process.kill()
        process.join()
        process.close()
    assert code is not None, f"it hangs; its log ends:\n{(folder / 'log').read_text()[-2000:]}"
    return code, time.monotonic() - began


def count_points(url: str, folder: Path) -> tuple[int, float]:
    """The commits of an undisturbed workload, and its duration."""
    warm = FORKS.Process(target=int)
    warm.start()
    warm.join()
    counter = folder / "commits"
    code, took_s = run_workload(url, folder, again=False, env={"CORRAL_COUNT_COMMITS": str(counter)})
    assert code == 0
    return counter.stat().st_size, took_s


def read_journal(folder: Path) -> list[str]:
    return (folder / "journal").read_text().split()


def crash_at(point: str, url: str, folder: Path, plain_s: float) -> list[str]:
    """Crash there, start again, and what is broken afterwards."""
    code, _ = run_workload(url, folder, again=False, env={"CORRAL_CRASH_AT": point})
    if code == 0:
        return check(url, read_journal(folder))  # it was done before it got that far
    assert code == -signal.SIGKILL, f"{point}: ended with {code}"
    code, took_s = run_workload(url, folder, again=True)
    broken = check(url, read_journal(folder))
    if code != 0:
        broken.append(f"the second start ended with {code}")
    if took_s > plain_s + LEASE_S + 2 + NOISE_S:
        broken.append(f"it took {took_s:.1f} s to be drained; undisturbed, {plain_s:.1f} s")
    LATER_S[url.partition(":")[0]].append(took_s - plain_s)
    return [f"{point}: {each}" for each in broken]


def sample_points(points: int, wanted: int) -> list[str]:
    """Both sides of points spread over the workload, or of all of them."""
    if LEVEL:
        chosen = list(range(1, points + 1))
    else:
        step = points / wanted
        chosen = sorted(
            {min(points, 1 + int(number * step + make_random().random() * step)) for number in range(wanted)}
        )
    return [f"{side}:{number}" for number in chosen for side in SIDES]


async def crash_everywhere(points: list[str], url_of: "UrlOf", folder: Path, plain_s: float) -> list[str]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(point: str) -> list[str]:
        async with gate:
            place = Path(tempfile.mkdtemp(prefix=point.replace(":", "-") + "-", dir=folder))
            return await asyncio.to_thread(crash_at, point, url_of(place), place, plain_s)

    return [each for broken in await asyncio.gather(*map(one, points)) for each in broken]


class UrlOf:
    """Where the database of one crash lies."""

    def __init__(self, cluster: services.PostgresCluster | None = None) -> None:
        self._cluster = cluster

    def __call__(self, folder: Path) -> str:
        if self._cluster is None:
            return f"sqlite:///{folder}/corral.db"
        return self._cluster.create_migrated()


async def test_a_kill_at_any_commit_breaks_no_promise(tmp_path: Path, postgres: services.PostgresCluster) -> None:
    """Both databases at the same time: most of it is waiting for leases to run out."""
    for name in ("sqlite", "postgres"):
        (tmp_path / name).mkdir()
    await asyncio.gather(
        hold_everywhere(UrlOf(), tmp_path / "sqlite", by_level(3, 0)),
        hold_everywhere(UrlOf(postgres), tmp_path / "postgres", by_level(1, 0)),
    )


async def hold_everywhere(url_of: UrlOf, tmp_path: Path, wanted: int) -> None:
    place = tmp_path / "undisturbed"
    place.mkdir()
    url = url_of(place)
    points, plain_s = await asyncio.to_thread(count_points, url, place)
    assert check(url, read_journal(place)) == []
    assert points > 20
    chosen = sample_points(points, wanted)
    broken = await crash_everywhere(chosen, url_of, tmp_path, plain_s)
    kind = url.partition(":")[0]
    while not LATER_S[kind]:  # the workload took fewer commits than before, and ended before the points
        points //= 2
        chosen = sample_points(points, wanted)
        broken += await crash_everywhere(chosen, url_of, tmp_path, plain_s)
    assert broken == []
    later_s = max(LATER_S[kind])
    report(f"{len(chosen)} crashes at {points} commits of {kind}: drained at most {later_s:.1f} s later than uncrashed")


@pytest.mark.parametrize("side", SIDES)
def test_the_process_really_dies_at_the_point(tmp_path: Path, side: str) -> None:
    code, _ = run_workload(
        f"sqlite:///{tmp_path}/corral.db", tmp_path, again=False, env={"CORRAL_CRASH_AT": f"{side}:3"}
    )
    assert code == -signal.SIGKILL
