"""A page to log in on, by a script or by a person, and what the login leaves behind."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import BrowserContext, Locator, Page
from playwright.async_api import Error as PlaywrightError

from corral.domain.errors import CorralError
from corral.domain.proxy import OpenProxy
from corral.domain.secret import Secret, without
from corral.fetch.browser_args import BYPASS_NOTHING, VIEWPORT_HEIGHT, VIEWPORT_WIDTH, BrowserLimits
from corral.fetch.browser_engine import CannotStart, start_engine
from corral.fetch.egress import Egress
from corral.fetch.forward_proxy import ForwardProxy, ProxyLimits

_STEP_S = 10.0
_SETTLES_S = 5.0
_LOOK_EVERY_S = 0.5
_SUBMIT = "button[type=submit], input[type=submit], form button:not([type=button])"


class LoginFailed(CorralError):
    code = "login_failed"


class LoginPage:
    def __init__(self, context: BrowserContext, page: Page) -> None:
        self._context = context
        self._page = page

    async def open(self, url: str) -> None:
        await self._do(self._page.goto(url, timeout=_STEP_S * 1000), "the login page did not open")

    async def fill(self, name: str, value: Secret[str]) -> None:
        field = await self._first(_candidates(self._page, name))
        if field is None:
            raise LoginFailed(
                f"there is no field {name[:80]!r} on the login page",
                hint="name it as in its HTML (name, id or label), or give a CSS selector: --fill '#user=…'",
            )
        await self._do(field.fill(value.reveal(), timeout=_STEP_S * 1000), f"the field {name[:80]!r}", [value.reveal()])

    async def submit(self, selector: str | None) -> None:
        button = await self._first([self._page.locator(selector or _SUBMIT)])
        if button is None:
            raise LoginFailed(
                f"there is nothing to submit the login with ({selector or 'no submit button'})",
                hint="name the button with --submit SELECTOR",
            )
        await self._do(button.click(timeout=_STEP_S * 1000), "the login could not be submitted")
        with contextlib.suppress(PlaywrightError):
            await self._page.wait_for_load_state("networkidle", timeout=_SETTLES_S * 1000)
        if await self._first([self._page.locator("input[type=password]")]) is not None:
            raise LoginFailed("the page still asks for a password", hint="check the values given with --fill")

    async def until_done(self, done: asyncio.Event) -> dict[str, Any]:
        """What is there when a person says so or closes the window."""
        state = await self.state()
        while not done.is_set() and self._context.pages:
            with contextlib.suppress(PlaywrightError):  # closing right now
                state = await self.state()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_EVERY_S):
                    await done.wait()
        return state

    async def state(self) -> dict[str, Any]:
        """Cookies and storage of everything that was visited, in the shape sessions are given in."""
        found = await self._context.storage_state()
        storage = {
            each["origin"]: {item["name"]: item["value"] for item in each["localStorage"]}
            for each in found.get("origins", [])
        }
        return {"cookies": [dict(cookie) for cookie in found.get("cookies", [])], "storage": storage}

    async def _first(self, locators: Sequence[Locator]) -> Locator | None:
        for locator in locators:
            with contextlib.suppress(PlaywrightError):  # a name that is no selector
                for place in range(min(await locator.count(), 20)):
                    if await locator.nth(place).is_visible():
                        return locator.nth(place)
        return None

    async def _do(self, step: Any, what: str, secrets: Sequence[str] = ()) -> None:
        try:
            await step
        except PlaywrightError as error:
            # Below its first line Playwright repeats the call, with the text that was to be typed.
            said = without(str(error).strip().partition("\n")[0][:300], secrets)
            raise LoginFailed(f"{what}: {said}") from None


def _candidates(page: Page, name: str) -> list[Locator]:
    if name.startswith(("#", ".", "[")):
        return [page.locator(name)]
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    exact = [f'input[name="{quoted}"]', f'input[id="{quoted}"]', f'input[autocomplete="{quoted}"]']
    return [
        *(page.locator(each) for each in exact),
        page.get_by_label(name),
        page.locator(f'input[name*="{quoted}" i]'),
    ]


@asynccontextmanager
async def login_page(
    egress: Egress,
    trusted_hosts: frozenset[str],
    user_agent: str,
    *,
    headed: bool,
    upstream: OpenProxy | None = None,
    verifies_tls: bool = True,
) -> AsyncIterator[LoginPage]:
    proxy = ForwardProxy(egress, ProxyLimits())
    await proxy.start()
    try:
        engine = await start_engine(proxy.address, BrowserLimits(), headed=headed)
    except CannotStart as problem:
        await proxy.close()
        raise LoginFailed(f"no browser: {problem}") from None
    granted = proxy.admit(trusted_hosts, upstream)
    try:
        context = await engine.browser.new_context(
            accept_downloads=False,
            ignore_https_errors=not verifies_tls,
            proxy={
                "server": proxy.address,
                "bypass": BYPASS_NOTHING,
                "username": granted.username,
                "password": granted.password,
            },
            service_workers="block",
            user_agent=f"{engine.user_agent} {user_agent}",
            viewport={"width": VIEWPORT_WIDTH, "height": VIEWPORT_HEIGHT},
        )
        yield LoginPage(context, await context.new_page())
    finally:
        proxy.revoke(granted)
        await engine.end()
        await proxy.close()
