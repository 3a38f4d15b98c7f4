"""Pages of a crawl as they are shown, and why they are in the state they are in. The command line says the same."""

from typing import Any

from corral.domain.crawl import CrawlPlan, ItemState, room_in
from corral.domain.item import StoredItem
from corral.domain.masking import masked, masked_result_url
from corral.domain.run import Run
from corral.domain.traps import Trap
from corral.store.crawls import CrawlNow

_SHOWN = ("url", "depth", "state", "attempt", "reason", "message", "http_status", "due_in_s")


def page_shape(item: StoredItem) -> dict[str, Any]:
    shown = {name: getattr(item, name) for name in _SHOWN}
    return {**shown, "url": masked_result_url(item.url), "message": item.message and masked(item.message)}


def because(run: Run, now: CrawlNow, item: StoredItem) -> str:
    match item.state:
        case ItemState.DONE:
            return f"read with status {item.http_status}" + (f", {item.change}" if item.change else "")
        case ItemState.FAILED:
            return f"{item.reason}: {masked(item.message or 'no more is known')}"
        case ItemState.SKIPPED:
            return f"by the rule {item.reason}" + (f": {_told(item)}" if item.message else "")
        case ItemState.LEASED if not run.state.is_terminal:
            return "it is being read"
    return _waits_for(run, now, item)


def _told(item: StoredItem) -> str:
    match item.reason:
        case Trap.NO_NEW_CONTENT:
            return f"pages like {item.message} brought nothing new; --no-avoid-traps reads them all the same"
        case Trap.QUERY_VARIANTS:
            return f"there were too many of {item.message} that brought nothing new"
    return masked(str(item.message))


def _waits_for(run: Run, now: CrawlNow, item: StoredItem) -> str:
    if run.state.is_terminal:
        stopped = run.stats.get("budget") or run.stats.get("stopped_by")
        return f"the crawl ended before ({f'its {stopped} was used up' if stopped else run.state.value})"
    if run.state.value != "running":
        return f"the crawl is {run.hold_reason or run.state.value}"
    if room_in(CrawlPlan.of(run.payload["crawl"]).bounds, now.counts, now.size) == 0:
        return "the budget of the crawl is used up"
    if (item.reason or "").startswith("waiting:"):
        return f"{item.message or item.reason}; looked at again in {item.due_in_s:.0f} s"
    if item.due_in_s:
        return f"tried again in {item.due_in_s:.0f} s, after {item.reason}"
    return "its turn has not come"
