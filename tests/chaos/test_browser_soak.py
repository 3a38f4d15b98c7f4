"""Pages by browser for a long time, while workers are killed and runs are cancelled: nothing is left behind."""

import asyncio
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from corral.domain.ids import RunId
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import NewRun, RunAction, RunState
from corral.runtime.new_ids import new_id
from tests.chaos.client import Client, client_of
from tests.chaos.level import LEVEL, SEED, by_level, make_random
from tests.chaos.report import report
from tests.chaos.stack import NodeProcess, Stack, wait_for
from tests.engine.builders import states, wait_for_runs
from tests.fetch.browsing import needs_chromium
from tests.stack import demo_site

LOADS = by_level(20, 1000, 5000)
KILL_EVERY = by_level(10, 50)
CALM = by_level(0, 400, 2000)  # pages without a kill at the end: a worker's first hundred are its warming up
AT_ONCE = 10
LEFT_S = 5.0  # after which nothing of a killed worker may be there
MIB = 1024 * 1024

pytestmark = pytest.mark.browser


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Chromium puts sockets into it, whose paths may have a hundred characters."""
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Memory:
    """What a process has taken, by the number of pages it has seen."""

    samples: dict[int, list[tuple[int, float]]] = field(default_factory=dict)

    def note(self, pid: int, pages: int) -> None:
        try:
            taken = psutil.Process(pid).memory_info().rss / MIB
        except psutil.NoSuchProcess:
            return
        self.samples.setdefault(pid, []).append((pages, taken))

    def slope(self) -> float:
        """MiB per hundred pages, by least squares, each process measured against itself."""
        up = across = 0.0
        for points in self.samples.values():
            settled = points[len(points) // 3 :]
            middle = sum(pages for pages, _ in settled) / len(settled)
            usual = sum(taken for _, taken in settled) / len(settled)
            up += sum((pages - middle) * (taken - usual) for pages, taken in settled)
            across += sum((pages - middle) ** 2 for pages, _ in settled)
        return 100 * up / across if across else 0.0


@pytest.mark.long
async def test_killed_and_cancelled_browsers_leave_nothing_behind(file_stack: Stack, short_folder: Path) -> None:
    needs_chromium()
    node = file_stack.node(
        workers=1,
        runs_per_process=4,
        egress_allow="127.0.0.0/8:*",
        env={"TMPDIR": str(short_folder)},
        shutdown_grace_seconds=5,
    )
    node.wait_for_message("ready")
    memory = {"node": Memory(), "worker": Memory()}
    rng, kills, done = make_random(), 0, 0
    with demo_site() as site:
        async with client_of(file_stack.url, file_stack.folder) as client:
            while done < LOADS:
                await a_batch(client, site, rng)
                done += AT_ONCE
                memory["node"].note(node.pid, done)
                if done % KILL_EVERY == 0:
                    await kill_worker(node, short_folder, client, site)
                    kills += 1
            for pages in range(0, CALM, AT_ONCE):
                await a_batch(client, site, rng)
                memory["worker"].note(node.worker_pids[-1], pages)
            runs = await client.runs()
    found = states(runs)
    assert set(found) <= {RunState.COMPLETED, RunState.CANCELLED}, [
        (run.attempts, run.error_message) for run in runs if run.state is RunState.FAILED
    ]
    assert found[RunState.COMPLETED] >= 0.7 * LOADS
    node.signal(signal.SIGTERM)
    assert node.wait() == 0
    assert homes(short_folder) == []
    slopes = {name: round(each.slope(), 2) for name, each in memory.items()}
    report(f"{LOADS} pages by browser, {kills} workers killed, {found}; MiB per 100 pages: {slopes} (seed {SEED})")
    if LEVEL:  # over a few dozen pages it is all noise
        assert max(slopes.values()) <= 1.0


async def a_batch(client: Client, site: str, rng: random.Random) -> None:
    """Ten pages, two of them cancelled at some moment."""
    ids = await client.submit(*[a_page(f"{site}/shop/{rng.randrange(1, 20)}") for _ in range(AT_ONCE)])
    for id_ in rng.sample(ids, AT_ONCE // 5):
        await asyncio.sleep(rng.uniform(0, 0.4))
        run = await client.app.store.runs.get(id_)
        if not run.state.is_terminal:
            await client.app.submitter.apply_action(RunId(id_), RunAction.CANCEL)
    await wait_for_runs(client.app, ids, 90)


def a_page(url: str) -> NewRun:
    payload = Payload({"url": url, "fields": [{"name": "name"}], "respect_robots": False, "trusted_hosts": []})
    return NewRun(RunId(new_id()), None, "page", Priority.MEDIUM, 3, Strategy.BROWSER, Strategy.BROWSER, payload)


async def kill_worker(node: NodeProcess, folder: Path, client: Client, site: str) -> None:
    """Kill the worker in the middle of its work; soon nothing of it is left, not even to be buried."""
    pid = node.worker_pids[-1]
    ids = await client.submit(*[a_page(f"{site}/slow?seconds=2") for _ in range(3)])
    await asyncio.sleep(1.0)
    below = [child.pid for child in psutil.Process(pid).children(recursive=True)]
    assert len(below) >= 4, "a driver, a browser and its helpers"
    os.kill(pid, signal.SIGKILL)
    await asyncio.to_thread(wait_for, lambda: not there([pid, *below]), LEFT_S)
    await asyncio.to_thread(
        wait_for, lambda: not [each for each in homes(folder) if each.startswith(f"{pid}-")], LEFT_S
    )
    assert [each.pid for each in node.children() if is_zombie(each)] == []
    await wait_for_runs(client.app, ids, 90)


def homes(folder: Path) -> list[str]:
    """The folders of browsers, and their locks."""
    return sorted(each.name for each in folder.glob("corral-browser-*/*"))


def there(pids: list[int]) -> list[int]:
    return [pid for pid in pids if psutil.pid_exists(pid)]


def is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
