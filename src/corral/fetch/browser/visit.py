"""Load, watch and read one page in its own browser context, and end it when it exceeds a limit."""

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from playwright.async_api import BrowserContext, CDPSession, Frame, Page, Request, Response, Route, StorageState
from playwright.async_api import Error as PlaywrightError

from corral.domain.redaction import find_secrets
from corral.domain.runs.outcome import Failed
from corral.fetch.browser.decoded_size import BodyWeights
from corral.fetch.browser.engine import Engine
from corral.fetch.browser.failed_calls import FailedCalls
from corral.fetch.browser.faults import browser_fault, net_error_of
from corral.fetch.browser.headers import FirstPartyHeaders
from corral.fetch.browser.launch_args import (
    BLOCKED_TYPES,
    BYPASS_NOTHING,
    VIEWPORT_HEIGHT,
    VIEWPORT_WIDTH,
    BrowserLimits,
)
from corral.fetch.browser.recorded_calls import CallLog
from corral.fetch.faults import fault
from corral.fetch.proxy.messages import FAULT_HEADER
from corral.fetch.proxy.passes import ProxyPass

# An isolated world: the page cannot replace the functions that we call there.
_WORLD = "corral"
# The content of open shadow roots is written into a copy: `outerHTML` does not have it. The copy has a document of its
# own, where the constructors of custom elements do not run.
_READ = """(() => {
  const pairs = (from, to) => {
    const walkers = [from, to].map(each => document.createTreeWalker(each, NodeFilter.SHOW_ELEMENT)), found = [];
    for (let [a, b] = walkers, x = from, y = to; x && y; x = a.nextNode(), y = b.nextNode())
      if (x.shadowRoot) found.push([x.shadowRoot, y]);
    return found;
  };
  const whole = root => {
    const hosts = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
    let has = !!root.shadowRoot;
    while (!has && hosts.nextNode()) has = !!hosts.currentNode.shadowRoot;
    if (!has) return root.outerHTML;
    const inert = document.implementation.createHTMLDocument(""), copy = inert.importNode(root, true);
    const open = pairs(root, copy);
    while (open.length) {
      const [shadow, host] = open.pop(), inside = inert.createElement("div");
      for (const child of shadow.childNodes) inside.append(inert.importNode(child, true));
      open.push(...pairs(shadow, inside));
      host.prepend(inside);
    }
    return copy.outerHTML;
  };
  const root = document.documentElement, html = root ? whole(root) : "", size = html.length;
  return {html: size > %d ? "" : html, size, url: location.href, state: document.readyState};
})()"""
_ENDLESS = frozenset({"eventsource", "websocket", "ping"})  # requests that do not delay readiness


@dataclass(slots=True, eq=False)
class Arrival:
    """A navigation of the main frame and its result."""

    request: Request
    url: str
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None

    @property
    def announced_bytes(self) -> int:
        length = self.headers.get("content-length", "")
        return int(length) if length.isascii() and length.isdigit() and len(length) < 16 else 0

    @property
    def redirects(self) -> int:
        return len(self.chain) - 1

    @property
    def chain(self) -> list[str]:
        """The URLs of this navigation, in order."""
        found, request = [self.request.url], self.request
        while (before := request.redirected_from) is not None:
            found, request = [before.url, *found], before
        return found


@dataclass(frozen=True, slots=True)
class PageSnapshot:
    html: str
    size: int  # in characters; `html` is empty if this is over the limit
    url: str
    is_parsed: bool
    is_complete: bool


class PageVisit:
    def __init__(self, engine: Engine, limits: BrowserLimits) -> None:
        self._engine = engine
        self._limits = limits
        self._tasks: set[asyncio.Task[Any]] = set()
        self._requests: set[Request] = set()
        self._moved_at = self.load_started_at = time.monotonic()
        self._parsed = asyncio.Event()
        self._popups = 0
        self._navigations = 0
        self._page: Page | None = None
        self._session: CDPSession | None = None
        self._frame_id: str | None = None
        self._pending: Arrival | None = None
        self.opening: asyncio.Task[BrowserContext] | None = None
        self.arrival: Arrival | None = None
        self.calls = CallLog()
        self.failed_calls = FailedCalls()
        self.last_html = ""
        # Set if a crash or a limit ends the visit.
        self.ended: asyncio.Future[Failed] = asyncio.get_running_loop().create_future()

    # -- for the executor --------------------------------------------------------------------------------

    async def open(
        self,
        proxy_address: str,
        granted: ProxyPass,
        user_agent: str,
        state: dict[str, Any] | None = None,
        *,
        verifies_tls: bool = True,
        chosen_agent: str | None = None,
        first_party: FirstPartyHeaders | None = None,
    ) -> None:
        """Open the page with `state`, the cookies and storage of a session.

        The user agent of a job is sent unchanged; ours is appended to that of the browser.
        """
        self._later(self._end_when_gone())
        # A task, so that the context of a cancelled run can still be closed.
        agent = chosen_agent or f"{self._engine.user_agent} {user_agent}"
        context_of = self._new_context(proxy_address, granted, agent, state, verifies_tls=verifies_tls)
        self.opening = asyncio.create_task(context_of)
        context = await asyncio.shield(self.opening)
        # In sequence: a page that is created at the same time may miss the route.
        await context.route("**/*", self._block_unwanted)
        page = self._page = await context.new_page()
        # No dialog listener: Playwright then dismisses dialogs by itself.
        context.on("page", self._on_popup)
        page.on("crash", lambda _: self._end(self._crash()))
        page.on("request", self._on_request)
        page.on("response", self._on_response)
        page.on("requestfinished", self._on_done)
        page.on("requestfailed", self._on_failed)
        page.on("framenavigated", self._on_commit)
        page.on("domcontentloaded", lambda _: self._parsed.set())
        self._session = await context.new_cdp_session(page)
        await BodyWeights(self._limits, self._end, self._later).watch(self._session)
        if first_party is not None:
            await first_party.install(self._session, granted, self._later)

    async def _new_context(
        self,
        proxy_address: str,
        granted: ProxyPass,
        user_agent: str,
        state: dict[str, Any] | None,
        *,
        verifies_tls: bool,
    ) -> BrowserContext:
        return await self._engine.browser.new_context(
            accept_downloads=False,
            # Applies to this context only, which has its own connections.
            ignore_https_errors=not verifies_tls,
            java_script_enabled=True,
            proxy={
                "server": proxy_address,
                "bypass": BYPASS_NOTHING,
                "username": granted.username,
                "password": granted.password,
            },
            service_workers="block",
            storage_state=cast(StorageState, state) if state else None,
            user_agent=user_agent,
            viewport={"width": VIEWPORT_WIDTH, "height": VIEWPORT_HEIGHT},
        )

    async def load(self, url: str) -> None:
        """Navigate until there is a document. The result is in `arrival`; the page may navigate further by itself."""
        assert self._page is not None
        self.load_started_at = time.monotonic()
        try:
            await self._page.goto(url, wait_until="commit", timeout=0)
        except PlaywrightError as error:
            if self.arrival is None and self._pending is not None:
                # A download has no network error of its own: it aborts the navigation.
                self._pending.error = self._pending.error or net_error_of(str(error)) or "ABORTED"
                self.arrival, self._pending = self._pending, None

    async def wait_parsed(self, within_s: float) -> None:
        """Wait until the document is parsed, or `within_s` has passed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._parsed.wait()

    async def snapshot(self) -> PageSnapshot | None:
        """Return the current document; None while the page is between two documents."""
        value = await self.evaluate(_READ % self._limits.max_content_bytes)
        if value is None:
            return None
        state = value["state"]
        self.last_html = value["html"]
        return PageSnapshot(value["html"], value["size"], value["url"], state != "loading", state == "complete")

    async def evaluate(self, expression: str) -> Any:
        """Evaluate in our isolated world; None while the page is between two documents."""
        assert self._session is not None
        try:
            if self._frame_id is None:
                tree = await self._session.send("Page.getFrameTree")
                self._frame_id = tree["frameTree"]["frame"]["id"]
            world = await self._session.send(
                "Page.createIsolatedWorld", {"frameId": self._frame_id, "worldName": _WORLD}
            )
            params = {"expression": expression, "contextId": world["executionContextId"], "returnByValue": True}
            answer = await self._session.send("Runtime.evaluate", params)
            return answer["result"]["value"]
        except (PlaywrightError, KeyError):
            self._frame_id = None
            return None

    async def body(self, within_s: float) -> bytes | None:
        """Return the document as sent, once it has arrived; None if it is not available."""
        arrival = self.arrival
        if arrival is None:
            return None
        with contextlib.suppress(PlaywrightError, TimeoutError):
            async with asyncio.timeout(within_s):
                response = await arrival.request.response()
                return None if response is None else await response.body()
        return None

    async def screenshot(self) -> str:
        """Return the visible part of the page as a PNG in base64."""
        assert self._session is not None
        # Over CDP: Playwright would wait for fonts and frames of the page.
        answer = await self._session.send(
            "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": False, "optimizeForSpeed": True}
        )
        return str(answer["data"])

    async def identifiers(self) -> list[str]:
        """Return the identifiers that the site set: cookie values, and secrets in the URLs of redirects."""
        cookies = await (await self.opening).cookies() if self.opening is not None else []
        addresses = self.arrival.chain if self.arrival is not None else []
        return [
            *(cookie.get("value", "") for cookie in cookies),
            *(each for url in addresses for each in find_secrets(url)),
        ]

    @property
    def is_on_the_web(self) -> bool:
        """True while a live browser shows a page from the web."""
        if self._session is None or self._page is None or self._engine.gone.is_set():
            return False
        is_ours = self.arrival is None or FAULT_HEADER in self.arrival.headers
        return not is_ours and self._page.url.startswith(("http://", "https://"))

    @property
    def is_navigating(self) -> bool:
        return self._pending is not None

    def quiet_s(self) -> float:
        """Return how long there has been no request and no answer."""
        return 0.0 if self._requests else time.monotonic() - self._moved_at

    def exceed(self, budget: str) -> None:
        """End the visit at once: a busy page would not answer before its time is up."""
        self._end(browser_fault("limit:browser", budget))

    def finish(self) -> None:
        for task in self._tasks:
            task.cancel()
        self.ended.cancel()

    # -- events of the page ------------------------------------------------------------------------------

    async def _block_unwanted(self, route: Route) -> None:
        with contextlib.suppress(PlaywrightError):
            if route.request.resource_type in BLOCKED_TYPES:
                await route.abort("blockedbyclient")
            else:
                await route.continue_()

    def _on_popup(self, popup: Page) -> None:
        self._popups += 1
        if self._popups > self._limits.max_popups:
            self._end(browser_fault("limit:browser", f"it opened more than {self._limits.max_popups} windows"))
        self._later(popup.close())

    def _on_request(self, request: Request) -> None:
        self._moved_at = time.monotonic()
        if request.resource_type not in _ENDLESS:
            self._requests.add(request)
        if not self._is_own_navigation(request):
            return
        if request.redirected_from is None:
            self._navigations += 1
        if self._navigations > self._limits.max_navigations:
            self._end(browser_fault("limit:browser", f"it navigated more than {self._limits.max_navigations} times"))
        self._pending = Arrival(request, request.url)
        if self._pending.redirects > self._limits.max_redirects:
            chain = self._pending.chain
            urls = " -> ".join(url[:120] for url in chain)
            self._end(fault("limit:redirects", f"more than {self._limits.max_redirects}: {urls}", chain=chain))

    def _on_response(self, response: Response) -> None:
        self._moved_at = time.monotonic()
        self.calls.add(response)
        self.failed_calls.add(response)
        for arrival in (self._pending, self.arrival):
            if arrival is not None and arrival.request == response.request:
                arrival.status, arrival.headers = response.status, response.headers

    def _on_commit(self, frame: Frame) -> None:
        if self._page is not None and frame == self._page.main_frame and self._pending is not None:
            self.arrival, self._pending = self._pending, None
            self._parsed.clear()
            self.calls.forget()

    def _on_done(self, request: Request) -> None:
        self._moved_at = time.monotonic()
        self._requests.discard(request)

    def _on_failed(self, request: Request) -> None:
        self._on_done(request)
        self.failed_calls.add_error(request)
        error = net_error_of(request.failure or "") or "FAILED"
        if self.arrival is not None and self.arrival.request == request:
            self.arrival.error = error  # cut off inside its document
            self._parsed.set()
        pending = self._pending
        if pending is None or pending.request != request:
            return
        pending.error = error
        # An aborted navigation does not change the page: an answer without content, or a download.
        if pending.error != "ABORTED" or self.arrival is None:
            self.arrival = pending
        self._pending = None

    def _is_own_navigation(self, request: Request) -> bool:
        try:
            return self._page is not None and request.is_navigation_request() and request.frame == self._page.main_frame
        except PlaywrightError:  # the frame is gone or not there yet
            return False

    # -- ends of the visit -------------------------------------------------------------------------------

    def _crash(self) -> Failed:
        if time.monotonic() - self._engine.memory_killed_at < 5:
            return browser_fault("limit:browser", "it took too much memory")
        return browser_fault("unknown:browser_crash")

    async def _end_when_gone(self) -> None:
        await self._engine.gone.wait()
        self._end(browser_fault("unknown:browser_crash"))

    def _end(self, failure: Failed) -> None:
        if not self.ended.done():
            self.ended.set_result(failure)

    def _later(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _quietly(work: Coroutine[Any, Any, Any]) -> None:
    with contextlib.suppress(PlaywrightError):
        await work
