"""Add the cost of a crawled page to its result."""

import time
from dataclasses import replace

from corral.domain.cost.spent import SPENT
from corral.domain.crawl.item import ItemResult
from corral.domain.runs.outcome import Deferred, Failed, Outcome
from corral.fetch.egress.context import CostMeter


def add_cost(result: ItemResult | Failed | Deferred, meter: CostMeter) -> ItemResult | Failed | Deferred:
    """Add the cost of the page, whatever its result. Its size is the bytes received by all its requests."""
    if isinstance(result, ItemResult):
        size = max(meter.size, result.size)
        return result._replace(requests=meter.requests, size=size, browser_ms=meter.browser_ms, cpu_ms=meter.cpu_ms)
    return replace(result, stats={**result.stats, SPENT: meter.document()}) if isinstance(result, Failed) else result


def count_requests(meter: CostMeter | None, outcome: Outcome) -> None:
    """Count the requests and bytes of a page that a browser loaded, or of the calls of a recipe."""
    if meter is not None and not isinstance(outcome, Deferred):
        meter.requests += int(outcome.stats.get("requests") or 0)
        meter.size += int(outcome.stats.get("bytes") or 0)


def count_browser(meter: CostMeter | None, outcome: Outcome, began: float) -> None:
    """Count the browser time, requests and bytes of a page that began at `began`."""
    if meter is None or isinstance(outcome, Deferred):
        return
    meter.browser_ms += round((time.monotonic() - began) * 1000)
    count_requests(meter, outcome)
