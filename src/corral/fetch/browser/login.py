"""Capture a session from a login page that a script or a person fills in."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import BrowserContext, Frame, Locator, Page, Response
from playwright.async_api import Error as PlaywrightError

from corral.domain.errors import CorralError
from corral.domain.net.proxy import OpenProxy
from corral.domain.secret import Secret, without
from corral.fetch.browser.engine import CannotStart, start_engine
from corral.fetch.browser.launch_args import BYPASS_NOTHING, VIEWPORT_HEIGHT, VIEWPORT_WIDTH, BrowserLimits
from corral.fetch.egress.client import Egress
from corral.fetch.proxy.forward_proxy import ForwardProxy
from corral.fetch.proxy.messages import FAULT_HEADER
from corral.fetch.proxy.passes import ProxyLimits

_STEP_S = 10.0
_SETTLES_S = 5.0
_POLL_EVERY_S = 0.5
_CHECK = "nothing was stored; check the values given with --fill"
_SUBMIT = "button[type=submit], input[type=submit], form button:not([type=button])"


class LoginFailed(CorralError):
    code = "login_failed"


class LoginPage:
    def __init__(self, context: BrowserContext, page: Page) -> None:
        self._context = context
        self._page = page
        self._filled: list[Locator] = []
        self._form_url: str | None = None
        self._statuses: list[int] = []  # of documents since the form was submitted
        self._navigations = 0
        page.on("response", self._on_response)
        page.on("framenavigated", self._on_navigated)

    async def open(self, url: str) -> None:
        await self._do(self._page.goto(url, timeout=_STEP_S * 1000), "the login page did not open")
        self._form_url = self._page.url

    async def fill(self, name: str, value: Secret[str]) -> None:
        field = await self._first(_candidates(self._page, name))
        if field is None:
            raise LoginFailed(
                f"there is no field {name[:80]!r} on the login page",
                hint="name it as in its HTML (name, id or label), or give a CSS selector: --fill '#user=…'",
            )
        self._filled.append(field)
        await self._do(field.fill(value.reveal(), timeout=_STEP_S * 1000), f"the field {name[:80]!r}", [value.reveal()])

    async def submit(self, selector: str | None) -> None:
        self._navigations = 0
        button = await self._first([self._page.locator(selector or _SUBMIT)])
        if button is None:
            raise LoginFailed(
                f"there is nothing to submit the login with ({selector or 'no submit button'})",
                hint="name the button with --submit SELECTOR",
            )
        form_url = self._page.url
        self._statuses.clear()
        await self._do(button.click(timeout=_STEP_S * 1000), "the login could not be submitted")
        await self._settle()
        if self._statuses and self._statuses[-1] >= 400:
            raise LoginFailed(f"the site answered the login with {self._statuses[-1]}", hint=_CHECK)
        if await self._asks_for_password():
            raise LoginFailed("the page still asks for a password", hint=_CHECK)
        if self._navigations and _path(self._page.url) == _path(form_url) and await self._first(self._filled):
            raise LoginFailed("the login led back to its form", hint=_CHECK)

    async def check_target(self, url: str) -> None:
        """Open the page that needs the login; raise LoginFailed if it still asks for one.

        The page itself is the test: a form may reject a password in many ways, and may set a cookie even then.
        """
        try:
            answer = await self._page.goto(url, timeout=_STEP_S * 1000)
        except PlaywrightError:
            return  # a page that fails to load says nothing about the login
        if answer is None or FAULT_HEADER in answer.headers:
            return
        with contextlib.suppress(PlaywrightError):
            await self._page.wait_for_load_state("networkidle", timeout=_SETTLES_S * 1000)
        is_sent_back = _path(self._page.url) != _path(url) and _path(self._page.url) == _path(self._form_url or "")
        if answer.status in (401, 403) or is_sent_back or await self._asks_for_password():
            raise LoginFailed(f"{url} asks for a login although one was submitted", hint=_CHECK)

    async def _settle(self) -> None:
        """Wait for the answer to the form: another page, or the form disappears."""
        with contextlib.suppress(TimeoutError, PlaywrightError):
            async with asyncio.timeout(_SETTLES_S):
                # Polled: a form that a script removes sends no event.
                while not self._navigations and await self._asks_for_password():  # noqa: ASYNC110
                    await asyncio.sleep(_POLL_EVERY_S / 5)
        with contextlib.suppress(PlaywrightError):
            await self._page.wait_for_load_state("networkidle", timeout=_SETTLES_S * 1000)

    async def _asks_for_password(self) -> bool:
        return await self._first([self._page.locator("input[type=password]")]) is not None

    def _on_response(self, response: Response) -> None:
        with contextlib.suppress(PlaywrightError):  # the frame is gone
            if response.request.is_navigation_request() and response.frame == self._page.main_frame:
                self._statuses.append(response.status)

    def _on_navigated(self, frame: Frame) -> None:
        if frame == self._page.main_frame:
            self._navigations += 1

    async def until_done(self, done: asyncio.Event) -> dict[str, Any]:
        """Return the state when the person confirms or closes the window."""
        state = await self.state()
        while not done.is_set() and self._context.pages:
            with contextlib.suppress(PlaywrightError):  # the window is closing
                state = await self.state()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_EVERY_S):
                    await done.wait()
        return state

    async def state(self) -> dict[str, Any]:
        """Return the cookies and storage of all visited sites, in the format of session imports."""
        found = await self._context.storage_state()
        storage = {
            each["origin"]: {item["name"]: item["value"] for item in each["localStorage"]}
            for each in found.get("origins", [])
        }
        return {"cookies": [dict(cookie) for cookie in found.get("cookies", [])], "storage": storage}

    async def _first(self, locators: Sequence[Locator]) -> Locator | None:
        for locator in locators:
            with contextlib.suppress(PlaywrightError):  # the name is not a valid selector
                for index in range(min(await locator.count(), 20)):
                    if await locator.nth(index).is_visible():
                        return locator.nth(index)
        return None

    async def _do(self, step: Any, what: str, secrets: Sequence[str] = ()) -> None:
        try:
            await step
        except PlaywrightError as error:
            # After the first line Playwright repeats the call with the typed text.
            message = without(str(error).strip().partition("\n")[0][:300], secrets)
            raise LoginFailed(f"{what}: {message}") from None


def _path(url: str) -> str:
    """Return the URL without query and fragment: a form that is shown again often has another query."""
    return url.partition("#")[0].partition("?")[0].rstrip("/")


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
    executable: str = "",
) -> AsyncIterator[LoginPage]:
    proxy = ForwardProxy(egress, ProxyLimits())
    await proxy.start()
    try:
        engine = await start_engine(proxy.address, BrowserLimits(executable=executable), headed=headed)
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
