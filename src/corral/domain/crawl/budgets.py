"""Decide whether a crawl may start more pages, and which limit stopped it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from corral.domain.cost.budget import Budget
from corral.domain.cost.spent import Prices, Spent, check_cost_limit, find_exceeded
from corral.domain.crawl.crawl import HOST_BUDGET, Bounds, Counts, CrawlPlan, StoppedBy


def room_in(bounds: Bounds, counts: Counts, spent: Spent) -> float:
    """Return how many more pages may be started, counting those in flight."""
    if bounds.max_bytes is not None and spent.size >= bounds.max_bytes:
        return 0
    if find_exceeded(bounds.budget, bounds.prices, spent) is not None:
        return 0
    pages = float("inf") if bounds.max_pages is None else bounds.max_pages - counts.fetched - counts.leased
    # A page takes at least one request.
    requests = bounds.budget.requests
    room = float("inf") if requests is None else requests - spent.requests - counts.leased
    return max(0, min(pages, room))


def find_exceeded_limit(plan: CrawlPlan, counts: Counts, spent: Spent, ran_out: StoppedBy | None) -> str | None:
    """Return the limit of the plan's `budget` that stops a crawl with known URLs left."""
    budget = Budget.of(plan.budget)
    if counts.pending + counts.deferred + counts.leased == 0:
        return None
    if ran_out is StoppedBy.TIME and budget.seconds is not None:
        return "seconds"
    limit = find_exceeded(budget, Prices(**(plan.prices or {})), spent)
    # The last pages within the budget may take more than one request each, or none.
    is_short = budget.requests is not None and room_in(plan.bounds, counts, spent) == 0
    return limit or ("requests" if is_short and counts.fetched < plan.max_pages else None)


def budget_used_up(plan: CrawlPlan, counts: Counts, total_bytes: int, reasons: Mapping[str, int]) -> str | None:
    """Return the budget of the plan that stops a crawl with known URLs left."""
    has_more = counts.pending + counts.deferred > 0
    if plan.max_bytes is not None and total_bytes >= plan.max_bytes and has_more:
        return "max_bytes"
    if counts.fetched >= plan.max_pages and has_more:
        return "max_pages"
    return "max_per_host" if reasons.get(HOST_BUDGET) else None


def budget_options(budget: Budget, prices: Prices) -> dict[str, Any]:
    """Return the crawl options of a budget. BadInput if it limits a cost that would always be 0."""
    if budget.is_empty:
        return {}
    check_cost_limit(budget, prices)
    options: dict[str, Any] = {"budget": budget.document(), "prices": prices.document()}
    return options if budget.seconds is None else {**options, "max_seconds": max(1.0, budget.seconds)}


class CrawlStop(NamedTuple):
    """Why a crawl ended with URLs left to fetch."""

    ran_out: StoppedBy | None
    stats: dict[str, Any]
    left_out: dict[str, int]  # by the rule that makes the crawl partial


def find_stop(
    plan: CrawlPlan, counts: Counts, spent: Spent, reasons: Mapping[str, int], ran_out: StoppedBy | None
) -> CrawlStop:
    """Return why a crawl stopped.

    A limit that the caller requested (max_pages, max_bytes) completes a crawl; an exhausted `budget` makes it partial.
    """
    stats: dict[str, Any] = {}
    left_out: dict[str, int] = {}
    limit = find_exceeded_limit(plan, counts, spent, ran_out)
    requested_limit = budget_used_up(plan, counts, spent.size, reasons)
    if limit is not None:
        ran_out = ran_out or StoppedBy.BUDGET
        stats["budget"] = f"budget.{limit}"
        left_out[stats["budget"]] = counts.pending + counts.deferred + counts.leased
    elif ran_out is None and requested_limit is not None:
        ran_out = StoppedBy.BUDGET
        stats["budget"] = requested_limit
    if requested_limit == "max_pages" and not plan.asked_pages:
        left_out[requested_limit] = counts.pending + counts.deferred
    if ran_out is not None:
        stats["stopped_by"] = ran_out.value
    return CrawlStop(ran_out, stats, left_out)
