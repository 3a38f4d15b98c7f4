"""One Playwright driver with one Chromium: started, watched and ended together."""

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable
from typing import Any

from playwright.async_api import Browser, BrowserContext, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from corral.fetch.browser.launch_args import (
    BYPASS_NOTHING,
    FORBIDDEN_VARIABLE,
    HOW_TO_INSTALL,
    UNWANTED_ARGS,
    BrowserLimits,
    chromium_args,
    chromium_environment,
    find_chromium,
    find_headed_chromium,
    is_sandboxed,
)
from corral.fetch.browser.processes import (
    BrowserProcess,
    children,
    descendants,
    is_renderer,
    is_zygote,
    resident_bytes,
)
from corral.fetch.browser.profile_folder import BrowserHome, homes_root

_WATCH_EVERY_S = 0.5


class CannotStart(Exception):
    """Raised if no browser can be started now, or, if `is_final`, on this installation at all."""

    def __init__(self, message: str, *, is_final: bool) -> None:
        super().__init__(message)
        self.is_final = is_final


class Engine:
    def __init__(self, playwright: Playwright, browser: Browser, home: BrowserHome, limits: BrowserLimits) -> None:
        self._playwright = playwright
        self._home = home
        self._limits = limits
        self._started = time.monotonic()
        self._drivers, self._browsers = _processes_in(home)
        self._zygotes = _zygotes_of(self._browsers)
        self._watching = asyncio.create_task(self._watch(), name="browser watch")
        self._ending: asyncio.Task[None] | None = None
        home.record_processes([*self._drivers, *self._browsers])
        self.browser = browser
        self.pages = 0
        self.active = 0
        self.memory_killed_at = float("-inf")
        self.gone = asyncio.Event()
        browser.on("disconnected", lambda _: self.gone.set())

    @property
    def is_worn(self) -> bool:
        """True once the browser should be replaced."""
        limits = self._limits
        return (
            self.gone.is_set()
            or self.pages >= limits.max_pages
            or time.monotonic() - self._started > limits.max_age_s
            or sum(self._sizes().values()) > limits.max_resident_bytes
        )

    @property
    def user_agent(self) -> str:
        major = self.browser.version.partition(".")[0]
        engine = "AppleWebKit/537.36 (KHTML, like Gecko)"
        return f"Mozilla/5.0 (X11; Linux x86_64) {engine} HeadlessChrome/{major}.0.0.0 Safari/537.36"

    @property
    def pids(self) -> list[int]:
        """The pids of the driver and the browser, without those of the browser's children."""
        return [record.pid for record in (*self._drivers, *self._browsers)]

    async def dismiss(self, opening: asyncio.Task[BrowserContext]) -> None:
        """Close a context; if that takes too long, the browser is unusable."""
        if self.gone.is_set():
            opening.cancel()
            return
        try:
            async with asyncio.timeout(self._limits.close_s):
                await (await opening).close()
        except TimeoutError:
            self.kill()
        except PlaywrightError:
            pass  # closed with its browser

    def kill(self) -> None:
        """Kill the browser with all its pages."""
        self.gone.set()
        for record in self._browsers:
            record.kill()

    async def end(self) -> None:
        """Close everything, by force if it takes too long. May be called twice."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(), name="browser end")
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        self._watching.cancel()
        if not self.gone.is_set():
            await _within(self._limits.close_s, self.browser.close())
        self.kill()
        await _stop(self._playwright, self._home, self._limits)

    def _sizes(self) -> dict[int, int]:
        pids = {record.pid for record in self._browsers}
        pids |= {below for pid in pids for below in descendants(pid)}
        return {pid: resident_bytes(pid) for pid in pids}

    async def _watch(self) -> None:
        """Watch for what Playwright does not report: a dead driver, and a browser that opens no more pages."""
        while not self.gone.is_set():
            await asyncio.sleep(_WATCH_EVERY_S)
            if not all(record.is_alive for record in (*self._drivers, *self._browsers, *self._zygotes)):
                self.kill()
            elif sum((sizes := self._sizes()).values()) > self._limits.kill_resident_bytes:
                self._end_largest(sizes)

    def _end_largest(self, sizes: dict[int, int]) -> None:
        largest = max((pid for pid in sizes if is_renderer(pid)), key=lambda pid: sizes[pid], default=0)
        record = BrowserProcess.of(largest)
        if record is not None:
            self.memory_killed_at = time.monotonic()
            record.kill()


async def start_engine(proxy_address: str, limits: BrowserLimits, *, headed: bool = False) -> Engine:
    if os.environ.get(FORBIDDEN_VARIABLE):
        raise CannotStart(f"{FORBIDDEN_VARIABLE} is set, and would let pages reach this machine", is_final=True)
    if limits.executable and not os.access(limits.executable, os.X_OK):  # known before a driver starts for nothing
        raise CannotStart(f"{limits.executable} cannot be executed", is_final=False)
    home = await asyncio.to_thread(lambda: BrowserHome(homes_root()))
    playwright: Playwright | None = None
    try:
        async with asyncio.timeout(limits.launch_s):
            playwright = await _start_driver(home)
            browser = await _launch(playwright, proxy_address, home, limits, headed=headed)
            return Engine(playwright, browser, home, limits)
    except BaseException as error:
        await asyncio.shield(_stop(playwright, home, limits))
        if isinstance(error, TimeoutError):
            raise CannotStart(f"not within {limits.launch_s:g} s", is_final=False) from None
        if isinstance(error, PlaywrightError | OSError):
            raise CannotStart(str(error).strip().partition("\n")[0][:300], is_final=False) from None
        raise


async def _start_driver(home: BrowserHome) -> Playwright:
    """Start the driver, which inherits our environment, with the profile folder and without our settings."""
    before = dict(os.environ)
    os.environ["TMPDIR"] = str(home.path)
    for name in before:
        if name.startswith("APP_"):
            del os.environ[name]
    try:
        return await async_playwright().start()
    finally:
        os.environ.pop("TMPDIR", None)
        os.environ.update(before)


async def _launch(
    playwright: Playwright, proxy_address: str, home: BrowserHome, limits: BrowserLimits, *, headed: bool
) -> Browser:
    find = find_headed_chromium if headed else find_chromium
    found = await asyncio.to_thread(find, playwright.chromium.executable_path)
    executable = limits.executable or found
    if executable is None:
        raise CannotStart(f"no Chromium was found; {HOW_TO_INSTALL}", is_final=True)
    return await playwright.chromium.launch(
        executable_path=executable,
        args=chromium_args(),
        ignore_default_args=list(UNWANTED_ARGS),
        chromium_sandbox=is_sandboxed(),
        env=chromium_environment(home.path, headed=headed),
        headless=not headed,
        # Without credentials: the proxy refuses requests that the browser makes for itself.
        proxy={"server": proxy_address, "bypass": BYPASS_NOTHING},
        timeout=limits.launch_s * 1000,
    )


async def _stop(playwright: Playwright | None, home: BrowserHome, limits: BrowserLimits) -> None:
    drivers, browsers = _processes_in(home)
    if playwright is not None:
        await _within(limits.close_s, playwright.stop())
    for record in (*browsers, *drivers):
        record.kill()
    await asyncio.to_thread(home.remove)


def _processes_in(home: BrowserHome) -> tuple[list[BrowserProcess], list[BrowserProcess]]:
    drivers = home.processes()
    found = [BrowserProcess.of(pid) for driver in drivers for pid in children(driver.pid)]
    return drivers, [record for record in found if record is not None]


def _zygotes_of(browsers: list[BrowserProcess]) -> list[BrowserProcess]:
    found = [BrowserProcess.of(pid) for browser in browsers for pid in descendants(browser.pid) if is_zygote(pid)]
    return [record for record in found if record is not None]


async def _within(seconds: float, closing: Awaitable[Any]) -> None:
    # A dead driver leaves the connection in any state; whatever that raises, killing comes next.
    with contextlib.suppress(Exception):
        async with asyncio.timeout(seconds):
            await closing
