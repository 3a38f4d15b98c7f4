"""Collect the rows of virtual lists, which keep only visible rows in the document, while the page scrolls."""

import asyncio
import time

from corral.fetch.browser.visit import PageVisit

_SETTLE_S = 0.15
_MAX_SETTLE_S = 2.0
_STEPS_PER_SCROLL = 10  # a step covers most of a screen here; in lists that only grow, it covers a whole page
_MIN_GONE = 3
_MAX_STEPS_AT_REST = 3  # end after this many steps without new rows

# Rows are children of an element with at least five children of one kind. Their links, or their text, identify them.
# The state lives in our isolated world, which the page cannot see and which ends with the document.
_COLLECT = r"""(() => {
  const state = globalThis.__corralRows ||= {
    lists: new Map(), first: new Map(), last: new Map(), recycling: new Set(), suspects: new Set(),
    rows: 0, chars: 0, isFull: false};
  const pathOf = node => {
    const parts = [];
    for (let each = node; each && each !== document.documentElement; each = each.parentElement) {
      if (each.id) { parts.unshift("#" + CSS.escape(each.id)); break; }
      parts.unshift(`${each.localName}:nth-child(${[...each.parentElement.children].indexOf(each) + 1})`);
    }
    return parts.join(" > ");
  };
  const keyOf = row => {
    const links = [...row.querySelectorAll("a[href]")].map(each => each.getAttribute("href"));
    if (row.localName === "a") links.push(row.getAttribute("href"));
    return links.length ? links.join(" ") : row.textContent.trim().slice(0, 2000);
  };
  let fresh = 0;
  for (const list of [...document.body.querySelectorAll("*")].slice(0, 50000)) {
    if (list.childElementCount < 5 || ["SELECT", "HEAD", "svg"].includes(list.tagName)) continue;
    const kinds = {};
    for (const each of list.children) kinds[each.tagName] = (kinds[each.tagName] || 0) + 1;
    const kind = Object.keys(kinds).reduce((one, other) => kinds[other] > kinds[one] ? other : one);
    if (kinds[kind] < 5 || ["SCRIPT", "STYLE", "LINK", "META", "BR", "P"].includes(kind)) continue;
    const path = pathOf(list);
    if (!state.lists.has(path)) { if (state.lists.size >= 200) continue; state.lists.set(path, new Map()); }
    const known = state.lists.get(path), now = new Map();
    for (const row of list.children) {
      const key = row.tagName === kind ? keyOf(row) : "";
      if (!key) continue;
      now.set(key, row);
      if (known.has(key)) continue;
      const html = row.outerHTML;
      if (state.rows >= 20000 || state.chars + html.length > %(max_chars)d) { state.isFull = true; continue; }
      known.set(key, html); state.rows += 1; state.chars += html.length;
      // A clock beside a virtual list never comes to rest.
      if (!state.recycling.size || state.recycling.has(path)) fresh += 1;
    }
    if (!state.first.has(path)) state.first.set(path, new Set(now.keys()));
    // Rows whose elements were removed, or lead elsewhere now. A text that changes in place may be a clock or a price.
    const before = [...(state.last.get(path) || [])].filter(([key]) => !now.has(key));
    const gone = before.filter(([, row]) => !row.isConnected || row.matches("a[href], :has(a[href])"));
    if (gone.length >= %(min_gone)d) state.recycling.add(path);
    else if (before.length >= Math.max(%(min_gone)d, now.size / 2)) state.suspects.add(path);
    state.last.set(path, now);
  }
  const root = document.scrollingElement || document.documentElement;
  const inside = [...document.querySelectorAll("div, main, section, ul, ol, article")].slice(0, 5000).filter(each =>
    each.scrollHeight > each.clientHeight + 50 && each.clientHeight > 100 &&
    ["auto", "scroll"].includes(getComputedStyle(each).overflowY)).slice(0, 20);
  const move = %(move)d;
  let isAtEnd = true;
  // The rows of a list may fill less than a screen. Only the outermost lists count, not the cells of their rows.
  const outermost = [...state.recycling].filter(path =>
    ![...state.recycling].some(each => path.startsWith(each + " > ")));
  const heights = outermost.map(path => document.querySelector(path)?.offsetHeight || Infinity);
  for (const each of [root, ...inside]) {
    const screen = each === root ? innerHeight : each.clientHeight;
    if (each.scrollTop + screen < each.scrollHeight - 2) isAtEnd = false;
    if (move < 0) each.scrollTop = 0;
    else if (move > 0) each.scrollTop += Math.max(50, 0.8 * Math.min(screen, ...heights));
  }
  // Rows seen on the way to the end come after those seen from the top on, and only where they were not seen again.
  if (move < 0) Object.assign(state, {earlier: state.lists, lists: new Map(), rows: 0, chars: 0});
  return [fresh, state.recycling.size > 0, isAtEnd, state.isFull, state.suspects.size > 0];
})()"""
# A list whose texts changed in place recycles its rows if the first rows return at the top; a clock does not go back.
_TO_TOP = r"""(() => {
  const root = document.scrollingElement || document.documentElement;
  for (const each of [root, ...document.querySelectorAll("div, main, section, ul, ol, article")])
    if (each.scrollTop) each.scrollTop = 0;
  return true;
})()"""
_CONFIRM = r"""(() => {
  const state = globalThis.__corralRows;
  for (const path of state ? state.suspects : []) {
    const first = state.first.get(path), list = document.querySelector(path);
    const now = new Set([...(list ? list.children : [])].map(row => row.textContent.trim().slice(0, 2000)));
    if (2 * [...first].filter(key => now.has(key)).length >= first.size) state.recycling.add(path);
  }
  if (state) { state.suspects.clear(); state.last.clear(); }
  return Boolean(state && state.recycling.size);
})()"""
# Build a copy of the document in which each recycling list has all rows seen so far, in page order. The cells of a
# recycled row change with it, so only the outermost list counts.
_MERGE = r"""(() => {
  const state = globalThis.__corralRows;
  const copy = document.documentElement.cloneNode(true);
  for (const [path, found] of state ? state.lists : []) {
    const rows = new Map([...found, ...[...(state.earlier?.get(path) || [])].filter(([key]) => !found.has(key))]);
    if (!state.recycling.has(path) || [...state.recycling].some(each => path.startsWith(each + " > "))) continue;
    const list = copy.querySelector(path);
    if (!list || rows.size <= list.childElementCount) continue;
    const holder = document.implementation.createHTMLDocument("").createElement(list.localName);
    holder.innerHTML = [...rows.values()].join("");
    list.replaceChildren(...[...holder.children].map(each => document.importNode(each, true)));
  }
  return copy.outerHTML;
})()"""


class RowCollector:
    """`is_recycling` is set once rows have left the document; `is_whole` is False if a limit was reached.

    `is_suspect` is set while texts of rows have changed in place and `confirm` has not found the reason.
    """

    def __init__(self, visit: PageVisit, max_chars: int) -> None:
        self._visit = visit
        self._max_chars = max_chars
        self.is_recycling = False
        self.is_suspect = False
        self.is_whole = True

    async def collect(self, move: int = 0) -> tuple[int, bool]:
        """Collect the current rows, then scroll; return the number of new rows and whether the end was reached."""
        found = await self._visit.evaluate(
            _COLLECT % {"move": move, "max_chars": self._max_chars, "min_gone": _MIN_GONE}
        )
        if not isinstance(found, list):
            return 0, False
        fresh, is_recycling, is_at_end, is_full, self.is_suspect = found
        self.is_recycling = self.is_recycling or bool(is_recycling)
        if is_full:
            self.is_whole = False
        return int(fresh), bool(is_at_end)

    async def confirm(self, until: float) -> None:
        """Scroll to the top, and check whether the rows that changed in place have returned."""
        self.is_suspect = False
        await self._visit.evaluate(_TO_TOP)
        await self._settle(until)
        self.is_recycling = self.is_recycling or await self._visit.evaluate(_CONFIRM) is True

    async def collect_all(self, max_scrolls: int, until: float) -> None:
        """Scroll from top to end, less than a screen at a time, so that every row appears."""
        await self.collect(move=-1)
        await self._settle(until)
        at_rest = 0
        for _ in range(max_scrolls * _STEPS_PER_SCROLL):
            fresh, is_at_end = await self.collect(move=1)
            at_rest = at_rest + 1 if is_at_end and not fresh else 0
            if at_rest >= _MAX_STEPS_AT_REST:
                return
            if time.monotonic() >= until:
                break
            await self._settle(until)
        self.is_whole = False

    async def merge(self) -> str | None:
        html = await self._visit.evaluate(_MERGE)
        return html if isinstance(html, str) else None

    async def _settle(self, until: float) -> None:
        """Wait for the page to load the next rows."""
        ends_at = min(until, time.monotonic() + _MAX_SETTLE_S)
        while True:
            await asyncio.sleep(_SETTLE_S)
            if self._visit.quiet_s() >= _SETTLE_S or time.monotonic() >= ends_at:
                return
