"""Scroll pages with infinite scrolling or a "load more" button until nothing new appears."""

import asyncio
import json
import time
from typing import NamedTuple

from corral.domain.lists.words import MORE_PATTERN
from corral.domain.runs.outcome import Failed
from corral.fetch.browser.crawl_page import SECONDS, STEPS, Rendering, ScrollPlan
from corral.fetch.browser.data_documents import Reading, ReadPlan
from corral.fetch.browser.readiness import read_again
from corral.fetch.browser.scrolling.rows import RowCollector
from corral.fetch.browser.visit import PageVisit

# How long a page takes to load more: a handler may be debounced, and the answer takes time.
_MIN_WAIT_S = 0.6
_QUIET_S = 0.4
_POLL_S = 0.1
# The limit for a page that never comes to rest.
_MAX_STEP_S = 8.0

# Scroll the page and its scrollable elements to the end, and press one "load more" button.
_STEP = r"""(() => {
  const more = new RegExp("^[^\\p{L}\\p{N}]*(?:" + %(words)s + ")", "iu");
  const root = document.scrollingElement || document.documentElement;
  if (!root || !document.body) return null;
  const inside = [...document.querySelectorAll("div, main, section, ul, ol, article")].slice(0, 5000).filter(each =>
    each.scrollHeight > each.clientHeight + 50 && each.clientHeight > 100 &&
    ["auto", "scroll"].includes(getComputedStyle(each).overflowY)).slice(0, 20);
  let can = %(scrolls)s && (root.scrollHeight > innerHeight + 1 || inside.length > 0);
  if (%(moves)s && %(scrolls)s) {
    scrollTo(0, root.scrollHeight);
    for (const each of inside) each.scrollTop = each.scrollHeight;
  }
  const css = %(css)s, xpath = %(xpath)s, isChosen = css !== null || xpath !== null;
  const isReady = each => !each.disabled && each.getAttribute("aria-disabled") !== "true" &&
    !each.classList.contains("disabled") && each.offsetParent !== null;
  const leads = each => {
    const href = each.tagName === "A" ? each.getAttribute("href") || "" : "";
    return href && !href.startsWith("#") && !href.toLowerCase().startsWith("javascript:");
  };
  let buttons = [];
  try {
    if (css !== null) buttons = [...document.querySelectorAll(css)];
    else if (xpath !== null) {
      const found = document.evaluate(xpath, document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
      for (let at = 0; at < found.snapshotLength; at += 1) buttons.push(found.snapshotItem(at));
    } else buttons = [...document.querySelectorAll("button, a, [role=button], input[type=button]")].slice(0, 5000)
      .filter(each => !leads(each) && more.test((each.innerText || each.value || "").trim().slice(0, 60)));
  } catch (error) { buttons = []; }
  const button = %(presses)s ? buttons.find(each => each instanceof HTMLElement && isReady(each)) || null : null;
  if (button && %(moves)s) button.click();
  const elements = document.getElementsByTagName("*").length;
  return [elements, root.scrollHeight, document.links.length, can || button !== null];
})()"""


class Extent(NamedTuple):
    elements: int
    height: int
    links: int
    can_move: bool

    def has_more_than(self, before: "Extent") -> bool:
        return self.links > before.links or (self.elements > before.elements and self.height >= before.height)


class PageScroller:
    """Scrolls one page, or presses its button, and waits until the page has come to rest."""

    def __init__(self, visit: PageVisit, plan: ScrollPlan, until: float) -> None:
        self._visit = visit
        self.until = until
        options = {
            "words": json.dumps(MORE_PATTERN),
            "scrolls": json.dumps(plan.moves),
            "presses": json.dumps(plan.presses),
            "css": json.dumps(plan.css),
            "xpath": json.dumps(plan.xpath),
        }
        self._measure_script = _STEP % {"moves": "false", **options}
        self._move_script = _STEP % {"moves": "true", **options}

    @property
    def is_late(self) -> bool:
        return time.monotonic() >= self.until

    async def measure(self) -> Extent | None:
        return await self._evaluate(self._measure_script)

    async def move(self, before: Extent) -> Extent | None:
        """Scroll or press once; return the extent after the page has come to rest."""
        await self._evaluate(self._move_script)
        began = time.monotonic()
        ends_at = min(self.until, began + _MAX_STEP_S)
        now = await self.measure()
        while time.monotonic() < ends_at:
            await asyncio.sleep(_POLL_S)
            now = await self.measure() or now
            is_quiet = self._visit.quiet_s() > _QUIET_S
            waited_s = time.monotonic() - began
            if is_quiet and (waited_s > _MIN_WAIT_S or (now is not None and now.has_more_than(before))):
                return now
        return now

    async def _evaluate(self, expression: str) -> Extent | None:
        found = await self._visit.evaluate(expression)
        return Extent(*found) if isinstance(found, list) else None


async def scroll_and_read(
    visit: PageVisit, plan: ReadPlan, reading: Reading, rendering: Rendering, until: float
) -> Reading | Failed:
    """Scroll to the end and read the page again. Data documents are not scrolled."""
    scroll = rendering.scroll
    if not scroll.max_steps or not reading.snapshot.html:
        return reading
    until = min(until, time.monotonic() + scroll.seconds)
    rows = RowCollector(visit, plan.max_chars // 2)
    is_whole = await scroll_to_end(PageScroller(visit, scroll, until), scroll.max_steps, rows)
    merged = None
    if rows.is_recycling:
        await rows.collect_all(scroll.max_steps, until)
        merged, is_whole = await rows.merge(), rows.is_whole
    if not is_whole:
        rendering.cut_by = SECONDS if time.monotonic() >= until else STEPS
    return await read_again(visit, plan, reading, merged)


async def scroll_to_end(scroller: PageScroller, max_steps: int, rows: RowCollector) -> bool:
    """Scroll until nothing new appears. False if the limit of steps or time was reached first."""
    extent = await scroller.measure()
    if extent is None or not extent.can_move:
        return True
    for _ in range(max_steps):
        await rows.collect()
        now = await scroller.move(extent)
        await rows.collect()
        if rows.is_suspect:
            await rows.confirm(scroller.until)
        if rows.is_recycling:
            return False
        if now is None or not now.has_more_than(extent):
            return not scroller.is_late
        if scroller.is_late:
            return False
        extent = now
    return False
