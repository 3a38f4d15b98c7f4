"""Infinite scrolling and "load more" buttons: scrolls until nothing new appears."""

import asyncio
import time
from typing import NamedTuple

from corral.domain.runs.outcome import Failed
from corral.fetch.browser.crawl_page import Rendering
from corral.fetch.browser.data_documents import Reading, ReadPlan
from corral.fetch.browser.readiness import read_again
from corral.fetch.browser.rows import RowCollector
from corral.fetch.browser.visit import PageVisit

# How long a page takes to load more: a handler may be debounced, and the answer takes time.
_BEGINS_S = 0.6
_QUIET_S = 0.4
_POLL_S = 0.1
# The limit for a page that never comes to rest.
_LONGEST_STEP_S = 8.0

# Scroll the page and its scrollable elements to the end, and click one "load more" button.
_STEP = r"""(() => {
  const more = /^\W*(load|show|view|see|get)\s+(\d+\s+)?more\b|^\W*more\s+(results|items|posts|products|articles)\b/i;
  const other = /^\W*((mehr|weitere)\s+(laden|anzeigen)|(voir|charger|afficher)\s+plus|(cargar|ver)\s+m)/i;
  const root = document.scrollingElement || document.documentElement;
  if (!root || !document.body) return null;
  const inside = [...document.querySelectorAll("div, main, section, ul, ol, article")].slice(0, 5000).filter(each =>
    each.scrollHeight > each.clientHeight + 50 && each.clientHeight > 100 &&
    ["auto", "scroll"].includes(getComputedStyle(each).overflowY)).slice(0, 20);
  let can = root.scrollHeight > innerHeight + 1;
  if (%(moves)s) { scrollTo(0, root.scrollHeight); for (const each of inside) each.scrollTop = each.scrollHeight; }
  let button = null;
  for (const each of [...document.querySelectorAll("button, a, [role=button], input[type=button]")].slice(0, 5000)) {
    const text = (each.innerText || each.value || "").trim().slice(0, 60);
    const href = each.tagName === "A" ? each.getAttribute("href") || "" : "";
    const leads = href && !href.startsWith("#") && !href.toLowerCase().startsWith("javascript:");
    if (!leads && !each.disabled && each.offsetParent !== null && (more.test(text) || other.test(text))) {
      button = each;
      break;
    }
  }
  if (button && %(moves)s) button.click();
  const elements = document.getElementsByTagName("*").length;
  return [elements, root.scrollHeight, document.links.length, can || inside.length > 0 || button !== null];
})()"""
_LOOK, _MOVE = _STEP % {"moves": "false"}, _STEP % {"moves": "true"}


class _Extent(NamedTuple):
    elements: int
    height: int
    links: int
    can_move: bool

    def has_more_than(self, before: "_Extent") -> bool:
        return self.links > before.links or (self.elements > before.elements and self.height >= before.height)


async def scroll_and_read(
    visit: PageVisit, plan: ReadPlan, reading: Reading, rendering: Rendering, until: float
) -> Reading | Failed:
    """Scroll to the end and read the page again. Data documents are not scrolled."""
    if not rendering.max_scrolls or not reading.snapshot.html:
        return reading
    until = min(until, time.monotonic() + rendering.scroll_s)
    rows = RowCollector(visit, plan.max_chars // 2)
    is_whole = await scroll_to_end(visit, rendering.max_scrolls, until, rows)
    merged = None
    if rows.is_recycling:
        await rows.collect_all(rendering.max_scrolls, until)
        merged, is_whole = await rows.merge(), rows.is_whole
    rendering.is_cut = not is_whole
    return await read_again(visit, plan, reading, merged)


async def scroll_to_end(visit: PageVisit, max_steps: int, until: float, rows: RowCollector) -> bool:
    """Scroll until nothing new appears. False if the limit of steps or time was reached first."""
    extent = await _extent(visit, _LOOK)
    if extent is None or not extent.can_move:
        return True
    for _ in range(max_steps):
        await rows.collect()
        await _extent(visit, _MOVE)
        now = await _wait_for_growth(visit, extent, until)
        await rows.collect()
        if rows.is_recycling:
            return False
        if now is None or not now.has_more_than(extent):
            return time.monotonic() < until
        if time.monotonic() >= until:
            return False
        extent = now
    return False


async def _wait_for_growth(visit: PageVisit, before: _Extent, until: float) -> _Extent | None:
    """Wait until the page has come to rest after a step."""
    began = time.monotonic()
    ends_at = min(until, began + _LONGEST_STEP_S)
    now = await _extent(visit, _LOOK)
    while time.monotonic() < ends_at:
        await asyncio.sleep(_POLL_S)
        now = await _extent(visit, _LOOK) or now
        is_quiet = visit.quiet_s() > _QUIET_S
        waited_s = time.monotonic() - began
        if is_quiet and (waited_s > _BEGINS_S or (now is not None and now.has_more_than(before))):
            return now
    return now


async def _extent(visit: PageVisit, expression: str) -> _Extent | None:
    found = await visit.evaluate(expression)
    return _Extent(*found) if isinstance(found, list) else None
