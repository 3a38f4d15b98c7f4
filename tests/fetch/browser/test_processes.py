"""A browser that dies, a worker that dies, and what is left of them."""

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from corral.demo import RunningSite
from corral.domain.runs.outcome import Failed, Fetched
from corral.fetch.browser.executor import BrowserExecutor
from corral.fetch.browser.launch_args import BrowserLimits
from corral.fetch.browser.processes import BrowserProcess, carries, descendants, is_renderer
from corral.fetch.browser.profile_folder import BrowserHome, homes_root, sweep_homes
from corral.fetch.limits import MIB
from tests.fetch.browsing import a_task, engine_of, needs_chromium, open_browser, serve
from tests.fetch.hostile import Hostile
from tests.forked.process import start_process
from tests.slack import SLACK
from tests.waiting import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]

WORKER = """
import asyncio, sys
from tests.fetch.browsing import a_task, engine_of, open_browser
from corral.fetch.browser.processes import descendants

async def main(port):
    async with open_browser(port) as browser:
        await browser.execute(a_task(f"http://127.0.0.1:{port}/articles", "title"))
        runs = [browser.execute(a_task(f"http://127.0.0.1:{port}/slow?seconds=50", timeout_s=60)) for _ in range(2)]
        waiting = asyncio.gather(*runs)
        await asyncio.sleep(0.5)
        engine = engine_of(browser)
        pids = {*engine.pids, *(below for pid in engine.pids for below in descendants(pid))}
        print(engine._home.path, *pids, flush=True)
        await waiting

asyncio.run(main(int(sys.argv[1])))
"""


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if BrowserProcess.of(pid) is not None]


async def is_working(browser: BrowserExecutor, site: RunningSite) -> bool:
    return isinstance(await browser.execute(a_task(f"{site.url}/shop/2", "name")), Fetched)


@pytest.mark.parametrize("victim", ["browser", "driver", "renderer"])
async def test_after_a_crash_the_next_run_has_a_working_browser(
    browser: BrowserExecutor, site: RunningSite, victim: str
) -> None:
    assert await is_working(browser, site)
    engine = engine_of(browser)
    run = asyncio.create_task(browser.execute(a_task(f"{site.url}/shop/1", "name", "never", timeout_s=15)))
    await until(lambda: len(engine.browser.contexts) == 1, within_s=5)
    await asyncio.sleep(0.6)
    if victim == "renderer":
        pids = [pid for pid in descendants(engine.pids[-1]) if is_renderer(pid)]
    else:
        pids = [engine.pids[-1] if victim == "browser" else engine.pids[0]]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    started = time.monotonic()
    outcome = await run
    assert isinstance(outcome, Failed), outcome
    assert (outcome.code, outcome.detail) == ("unknown", "browser_crash")
    assert time.monotonic() - started < 3 * SLACK
    assert await is_working(browser, site)
    assert time.monotonic() - started < 10 * SLACK
    if victim != "renderer":
        await until(lambda: not alive(engine.pids), within_s=5)
        await until(lambda: not engine._home.path.exists(), within_s=5)


@pytest.mark.parametrize("kind", ["gpu-process", "zygote", "utility"])
async def test_a_browser_that_lost_a_helper_goes_on_or_is_replaced(
    browser: BrowserExecutor, site: RunningSite, kind: str
) -> None:
    assert await is_working(browser, site)
    engine = engine_of(browser)
    helpers = [pid for pid in descendants(engine.pids[-1]) if is_of(pid, kind)]
    assert helpers
    for pid in helpers:
        os.kill(pid, signal.SIGKILL)
    await asyncio.sleep(1.0)  # it is looked after twice a second
    started = time.monotonic()
    assert await is_working(browser, site)
    assert time.monotonic() - started < 10 * SLACK
    if kind == "zygote":
        assert engine_of(browser) is not engine, "without it there are no new pages"


def is_of(pid: int, kind: str) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):  # also a zombie: it has ended meanwhile
        return any(f"--type={kind}" in argument for argument in psutil.Process(pid).cmdline())
    return False


async def test_a_page_that_hangs_ends_in_time_and_harms_no_other(
    browser: BrowserExecutor, site: RunningSite, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/hangs", "<title>x</title><script>for (;;) {}</script>")
    assert await is_working(browser, site)
    engine = engine_of(browser)
    started = time.monotonic()
    hung, fine = await asyncio.gather(
        browser.execute(a_task(den.url("/hangs"), "title", timeout_s=2)),
        browser.execute(a_task(f"{site.url}/shop/3", "name")),
    )
    assert isinstance(hung, Failed)
    assert (hung.code, hung.detail) == ("timeout", "browser")
    assert isinstance(fine, Fetched)
    assert time.monotonic() - started < 8 * SLACK
    await until(lambda: not engine.active, within_s=8)
    assert await is_working(browser, site)


async def test_a_page_that_takes_too_much_memory_is_ended(site: RunningSite, den: Hostile) -> None:
    limits = replace(BrowserLimits(), kill_resident_bytes=400 * MIB)
    hog = "<title>x</title><script>const a = []; setInterval(() => a.push(new Uint8Array(2e7).fill(1)), 10)</script>"
    with pytest.MonkeyPatch.context() as patch:
        serve(patch, "/hog", hog + "<script>fetch('/silent')</script>")
        async with open_browser(site.port, den.port, limits=limits) as browser:
            outcome = await browser.execute(a_task(den.url("/hog"), "never"))
            assert isinstance(outcome, Failed)
            assert (outcome.code, outcome.detail) == ("limit", "browser")
            assert "memory" in outcome.message
            assert await is_working(browser, site)


async def test_a_worn_browser_is_replaced_when_nobody_is_in_it(site: RunningSite) -> None:
    async with open_browser(site.port, limits=replace(BrowserLimits(), max_pages=3)) as browser:
        assert await is_working(browser, site)
        first = engine_of(browser)
        outcomes = await asyncio.gather(*[is_working(browser, site) for _ in range(5)])
        assert all(outcomes)
        second = engine_of(browser)
        assert second is not first
        assert (first.pages, second.pages) == (3, 3)
        await until(lambda: not alive(first.pids) and not first._home.path.exists(), within_s=5)
    assert not alive(second.pids)
    assert not second._home.path.exists()


@pytest.mark.parametrize("group", [True, False])
async def test_a_killed_worker_leaves_no_process_and_its_folder_is_swept(site: RunningSite, group: bool) -> None:
    needs_chromium()
    # A fork has a session of its own.
    arguments = [WORKER, str(site.port)]
    worker = start_process(arguments, module="-c", env=os.environ, cwd=Path(__file__).parents[3])
    assert worker.stdout is not None
    home, *numbers = (await asyncio.to_thread(worker.stdout.readline)).decode().split()
    processes = [psutil.Process(int(number)) for number in numbers]
    assert len(processes) >= 4
    assert Path(home).is_dir()
    if group:
        os.killpg(worker.pid, signal.SIGKILL)
    else:
        worker.kill()
    worker.wait(5)
    worker.stdout.close()
    await until(
        lambda: not [each for each in processes if psutil.pid_exists(each.pid) and each.is_running()], within_s=5
    )
    sweep_homes()
    assert not Path(home).exists()


async def test_a_sweep_leaves_the_living_alone_and_ends_only_what_was_written_down(tmp_path: Path) -> None:
    living = BrowserHome(tmp_path)
    dead = BrowserHome(tmp_path)
    environment = {**os.environ, "TMPDIR": str(dead.path)}
    left_over = subprocess.Popen(["sleep", "60"], env=environment, start_new_session=True)
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        # A process has its environment a moment after it has been started.
        await until(lambda: carries(left_over.pid, f"TMPDIR={dead.path}"), within_s=5)
        found = [BrowserProcess.of(process.pid) for process in (left_over, bystander)]
        reused = BrowserProcess(left_over.pid, 1)
        dead.record_processes([record for record in (*found, reused) if record is not None])
        os.close(dead._lock)  # as its owner's death does
        assert sweep_homes(tmp_path) == 1
        assert left_over.wait(5) == -signal.SIGKILL
        assert bystander.poll() is None
        assert living.path.is_dir()
        assert not dead.path.exists()
        living.remove()
        assert list(tmp_path.iterdir()) == []
    finally:
        for process in (left_over, bystander):
            process.kill()
            process.wait()


async def test_a_folder_that_others_may_write_in_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    root = homes_root()
    assert root == homes_root() == tmp_path / f"corral-browser-{os.geteuid()}"
    assert root.stat().st_mode & 0o777 == 0o700
    root.chmod(0o777)
    assert homes_root() != root
