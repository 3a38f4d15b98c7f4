"""Decide how far to scroll a page of a crawl, and report content beyond that."""

from corral.domain.crawl.crawl import LIST_BOUND, LIST_FAILURE, LIST_LIMIT, SCROLL_LIMIT, CrawlPlan
from corral.domain.crawl.item import Item, ItemResult
from corral.domain.crawl.job_pages import Listing
from corral.domain.lists.pagination import Pagination, PagingMode
from corral.domain.lists.position import ListPosition, listing_position
from corral.fetch.browser.crawl_page import FAILED_CALL, SECONDS, Rendering, ScrollPlan

PROBE_STEPS = 2  # scroll steps on a list, to observe how the page loads more
_SCROLL_S = 60.0
_STEP_S = 3.0  # time per scroll step, for a list with more wanted pages than fit into the time above
_MAX_SCROLL_S = 1_800.0
_TIME_SHARE = 0.8  # share of the run's time limit, if it has one


def needs_browser(plan: CrawlPlan, item: Item) -> bool:
    """True for a list page whose pagination works only in the browser."""
    if plan.listing is None or listing_position(item.kind) is None:
        return False
    mode = Listing.of(plan.listing).mode
    return mode is not None and mode.needs_browser


def may_replay(plan: CrawlPlan, item: Item) -> bool:
    """True for a list page whose pagination settings allow its API to serve further pages."""
    if plan.listing is None or listing_position(item.kind) is None:
        return False
    return Listing.of(plan.listing).mode in (PagingMode.AUTO, PagingMode.CURSOR)


def scroll_plan(plan: CrawlPlan, item: Item) -> ScrollPlan:
    position = listing_position(item.kind)
    listing = Listing.of(plan.listing) if plan.listing is not None and position is not None else None
    paging = listing.pagination if listing is not None else None
    if listing is None or position is None or paging is None or _is_selected_link(paging):
        return ScrollPlan(plan.max_scrolls, _SCROLL_S if plan.max_scrolls else 0.0)
    if paging.mode in (PagingMode.NEXT, PagingMode.NUMBERS, PagingMode.NONE):
        return ScrollPlan()
    return _list_plan(plan, listing, paging, position)


def _is_selected_link(paging: Pagination) -> bool:
    return paging.mode is PagingMode.NEXT and paging.selector is not None


def _list_plan(plan: CrawlPlan, listing: Listing, paging: Pagination, position: ListPosition) -> ScrollPlan:
    steps = max(0, listing.max_pages - position.number)
    wanted_s = max(_SCROLL_S, _STEP_S * steps) if plan.max_seconds is None else plan.max_seconds * _TIME_SHARE
    seconds = min(_MAX_SCROLL_S, wanted_s)
    button = paging.selector
    return ScrollPlan(
        steps,
        seconds if steps else 0.0,
        is_list=True,
        moves=paging.mode is not PagingMode.LOAD_MORE,
        presses=paging.mode is not PagingMode.SCROLL,
        css=button.css if button is not None else None,
        xpath=button.xpath if button is not None else None,
        max_items=listing.max_items - position.named,
    )


def report_cut(result: ItemResult, rendering: Rendering, plan: CrawlPlan) -> ItemResult:
    """Name the option that fetches more. A limit that the user set is not reported."""
    if rendering.cut_by is None:
        return result
    scroll = rendering.scroll
    if not scroll.is_list:
        message = f"the page still loaded more after {scroll.max_steps} scroll steps or {scroll.seconds:.0f} s"
        return result._replace(reason=SCROLL_LIMIT, message=f"{message}; max_scrolls allows more")
    if rendering.cut_by == FAILED_CALL:
        return result._replace(reason=LIST_FAILURE, message=f"the list may go on: {rendering.failed_call}"[:500])
    if rendering.cut_by == SECONDS:
        message = f"the list still went on after {scroll.seconds:.0f} s; {_describe_time(scroll.seconds)}"
        return result._replace(reason=SCROLL_LIMIT, message=message)
    if "max_pages" in (plan.listing or {}):
        return result._replace(reason=LIST_BOUND)
    message = "the list goes on, and max_pages of list_config was left at its default"
    return result._replace(reason=LIST_LIMIT, message=message)


def _describe_time(seconds: float) -> str:
    if seconds < _MAX_SCROLL_S:
        return "timeout_s of the job allows more"
    return "no page is scrolled for longer: start from addresses that list less, or name the pagination"
