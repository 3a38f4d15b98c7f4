"""Pages of a crawl as the API and the command line show them, and the reasons for their states."""

from typing import Any

from corral.domain.crawl.budgets import room_in
from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import DEFERRAL, StoredItem
from corral.domain.crawl.payload import plan_of
from corral.domain.crawl.summary import TRAP_OPTION
from corral.domain.crawl.templates.traps import Trap
from corral.domain.redaction import redact, redact_result_url
from corral.domain.runs.run import Run
from corral.store.queries.crawl.crawls import CrawlNow

_FIELDS = ("url", "depth", "state", "attempt", "reason", "message", "http_status", "due_in_s")


def page_shape(item: StoredItem) -> dict[str, Any]:
    fields = {name: getattr(item, name) for name in _FIELDS}
    return {**fields, "url": redact_result_url(item.url), "message": item.message and redact(item.message)}


def explain_state(run: Run, now: CrawlNow, item: StoredItem) -> str:
    """Return why the page is in its state."""
    match item.state:
        case ItemState.DONE:
            return f"read with status {item.http_status}" + (f", {item.change}" if item.change else "")
        case ItemState.FAILED:
            return f"{item.reason}: {redact(item.message or 'no details')}"
        case ItemState.MISSING:
            return f"missing: {item.message or item.reason}"
        case ItemState.SKIPPED:
            return f"by the rule {item.reason}" + (f": {_describe(item)}" if item.message else "")
        case ItemState.LEASED if not run.state.is_terminal:
            return "it is being read"
    return _explain_wait(run, now, item)


def _describe(item: StoredItem) -> str:
    match item.reason:
        case Trap.ENDLESS:
            return f"pages like {item.message} lead to ever more pages like themselves; {TRAP_OPTION} fetches them"
        case Trap.CALENDAR | Trap.REPEATED_SEGMENTS | Trap.TOO_MANY_SEGMENTS:
            return f"its address, like {item.message}, looks like a trap; {TRAP_OPTION} fetches it"
    return redact(str(item.message))


def _explain_wait(run: Run, now: CrawlNow, item: StoredItem) -> str:
    if item.state is ItemState.DEFERRED:
        why = f"it is fetched after all other pages, because pages like {item.message} brought nothing new"
        return f"{why}; {_explain_wait(run, now, item._replace(state=ItemState.PENDING))}"
    if run.state.is_terminal:
        stopped = run.stats.get("budget") or run.stats.get("stopped_by")
        return f"the crawl ended before ({f'its {stopped} was used up' if stopped else run.state.value})"
    if run.state.value != "running":
        return f"the crawl is {run.hold_reason or run.state.value}"
    if room_in(plan_of(run.payload).bounds, now.counts, now.spent) == 0:
        return "the budget of the crawl is used up"
    if (item.reason or "").startswith(DEFERRAL):
        return f"{item.message or item.reason}; next try in {item.due_in_s:.0f} s"
    if item.due_in_s:
        return f"next try in {item.due_in_s:.0f} s, after {item.reason}"
    return "it waits for other pages that come first"
