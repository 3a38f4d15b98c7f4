"""Read lists that grow in the browser. Reading after each step counts items that leave the document later."""

import time
from dataclasses import replace
from typing import Any

from corral.domain.runs.outcome import Failed
from corral.fetch.browser.crawl_page import FAILED_CALL, SECONDS, STEPS, Rendering
from corral.fetch.browser.data_documents import Reading, ReadPlan
from corral.fetch.browser.readiness import read_again
from corral.fetch.browser.scrolling.page_scroll import PageScroller
from corral.fetch.browser.scrolling.rows import RowCollector
from corral.fetch.browser.visit import PageVisit

_MIN_SCREENS = 50  # a virtual list loads nothing, so its pages are screens
_MAX_RETRIES = 2  # retries of a step whose call failed


class _ItemUnion:
    """The distinct items of all readings of a page, in the order in which they appeared."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Any]] = {}

    def add(self, reading: Reading) -> int:
        """Add the items of a reading; return how many of them are new."""
        before = len(self._rows)
        for row in (reading.answer.crawl_page or {}).get("items", ()):
            self._rows.setdefault(row[1], row)
        return len(self._rows) - before

    def __len__(self) -> int:
        return len(self._rows)

    def put_into(self, reading: Reading) -> Reading:
        content = {**(reading.answer.crawl_page or {}), "items": list(self._rows.values())}
        return replace(reading, answer=replace(reading.answer, crawl_page=content))


class _StepFailures:
    """Tracks whether the last step brought nothing because its call failed.

    Endpoints that fail while the list still grows do not belong to the list.
    """

    def __init__(self, visit: PageVisit) -> None:
        self._calls = visit.failed_calls
        self._other = set(self._calls.take())
        self._retries = 0
        self.last = ""

    def may_retry(self, *, has_grown: bool) -> bool:
        """Record the failures of a step; return True if a step without new items is worth a retry."""
        failed = self._calls.take()
        if has_grown:
            self._other |= failed.keys()
            self._retries, self.last = 0, ""
            return False
        self.last = next((message for endpoint, message in failed.items() if endpoint not in self._other), self.last)
        self._retries += 1
        return bool(self.last) and self._retries <= _MAX_RETRIES


async def scroll_list(
    visit: PageVisit, plan: ReadPlan, reading: Reading, rendering: Rendering, until: float
) -> Reading | Failed:
    """Scroll, or press the button, until no further item appears or a limit is reached."""
    scroll = rendering.scroll
    if not scroll.max_steps or not reading.snapshot.html:
        return reading
    until = min(until, time.monotonic() + scroll.seconds)
    scroller, rows, items = PageScroller(visit, scroll, until), RowCollector(visit, plan.max_chars // 2), _ItemUnion()
    items.add(reading)
    has_more, failures = True, _StepFailures(visit)
    for _ in range(scroll.max_steps):
        if scroll.max_items is not None and len(items) > scroll.max_items:
            return items.put_into(reading)  # the caller reports the item limit together with the items
        await rows.collect()
        after = await _step(scroller, visit, plan, reading)
        if isinstance(after, Failed):
            return after
        await rows.collect()
        reading, has_grown = after
        is_virtual = rows.is_recycling and not scroll.presses
        has_more = items.add(reading) > 0 or has_grown
        may_retry = failures.may_retry(has_grown=has_more)
        if is_virtual or not (has_more or may_retry) or scroller.is_late:
            break
    if rows.is_recycling and scroll.moves:
        return await _read_virtual(rows, visit, plan, reading, rendering, items, until)
    reading = items.put_into(reading)
    if failures.last:
        rendering.cut_by, rendering.failed_call = FAILED_CALL, failures.last
    elif has_more:
        rendering.cut_by = SECONDS if scroller.is_late else await _find_cut(scroller, visit, plan, reading, items)
    return reading


async def _step(
    scroller: PageScroller, visit: PageVisit, plan: ReadPlan, reading: Reading
) -> tuple[Reading, bool] | Failed:
    """Scroll once and read; also return whether the page has grown. A page that cannot be scrolled is at its end."""
    extent = await scroller.measure()
    if extent is None or not extent.can_move:
        return reading, False
    now = await scroller.move(extent)
    after = await read_again(visit, plan, reading)
    if isinstance(after, Failed):
        return after
    return after, now is not None and now.has_more_than(extent)


async def _find_cut(
    scroller: PageScroller, visit: PageVisit, plan: ReadPlan, reading: Reading, items: _ItemUnion
) -> str | None:
    """Try one step beyond the limit, only to find out whether the list continues."""
    after = await _step(scroller, visit, plan, reading)
    if isinstance(after, Failed):
        return STEPS
    return STEPS if items.add(after[0]) > 0 else None


async def _read_virtual(  # noqa: PLR0917 - the parts of one visit
    rows: RowCollector,
    visit: PageVisit,
    plan: ReadPlan,
    reading: Reading,
    rendering: Rendering,
    items: _ItemUnion,
    until: float,
) -> Reading | Failed:
    """Read a list that keeps only visible rows in the document, in steps of less than a screen."""
    await rows.collect_all(max(_MIN_SCREENS, rendering.scroll.max_steps), until)
    merged = await rows.merge()
    after = await read_again(visit, plan, reading, merged)
    if isinstance(after, Failed):
        return after
    items.add(after)
    if not rows.is_whole:
        rendering.cut_by = SECONDS if time.monotonic() >= until else STEPS
    return items.put_into(after)
