"""Turn a fetched and parsed list page into the result of its item: the items it names, and the next list page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corral.domain.crawl.crawl import EMPTY_LIST_PAGE, LIST_BOUND, LIST_LIMIT, LISTING, CrawlPlan, ItemState
from corral.domain.crawl.item import DiscoveredLink, Item, ItemResult, PageSignals
from corral.domain.crawl.job_pages import ITEM_LINKS, Listing
from corral.domain.lists.pagination import PagingMode
from corral.domain.lists.position import ListPosition, listing_kind, listing_place
from corral.domain.lists.progress import ListProgress
from corral.domain.runs.outcome import Failed, FailureCode
from corral.extract.page_reader import ReadAnswer
from corral.fetch.crawl.page_result import add_signs, needs_scripts, result_of_refresh
from corral.fetch.response import Response


@dataclass(frozen=True, slots=True)
class _Taken:
    """The links to follow from a list page. `cut_by` is the limit that ended the list early."""

    items: list[list[Any]]
    following: list[DiscoveredLink]
    listed: int
    cut_by: str | None
    is_repeat: bool
    may_end: bool  # no page links to the next one, so the list may end here


def result_of_listing(
    item: Item, plan: CrawlPlan, answer: Response, read: ReadAnswer, progress: ListProgress
) -> ItemResult | Failed:
    content, config = read.crawl_page or {}, plan.listing or {}
    place = listing_place(item.kind) or ListPosition(1)
    if (redirected := result_of_refresh(item, answer, read)) is not None:
        return redirected
    if place.number == 1 and not content.get("items"):
        message = f"item_links ({_selector_of(config)}) matches no link on the first page of the list"
        message += "; its scripts were not run, strategy auto or browser runs them" if needs_scripts(read) else ""
        return Failed(FailureCode.EXTRACTION, message, "item_links", stats={"needs_scripts": needs_scripts(read)})
    listing = Listing.of(config)
    taken = _take(content, listing, place, set(progress.find_new(item.id, _keys_of(content))))
    found = (*(DiscoveredLink(*each) for each in taken.items), *taken.following)
    rule, message = _rule_of_list(config, taken)
    result = ItemResult(item.id, item.key, ItemState.SKIPPED, rule, message, found=found, http_status=answer.status)
    loads_more = _loads_more(listing, content, taken, has_scripts=needs_scripts(read))
    scripts = tuple(content.get("scripts", ())) if loads_more is None else ()
    seen = add_signs(PageSignals(loads_more=bool(loads_more), scripts=scripts), content)
    return result._replace(size=answer.raw_bytes, seen=seen)


def _keys_of(content: Mapping[str, Any]) -> list[str]:
    return [row[1] for row in content.get("items", ())]


def _take(content: Mapping[str, Any], listing: Listing, place: ListPosition, new: set[str]) -> _Taken:
    """Select new items within max_items, and the following pages while the limits and the list allow."""
    rows = content.get("items", [])
    fresh = [row for row in rows if row[1] in new]
    items = fresh[: max(0, listing.max_items - place.named)]
    cut_by = "max_items" if len(items) < len(fresh) else None
    named = place.named + len(items)
    # A user's selector is followed as written; in any case, each page URL is visited only once.
    is_chosen = listing.pagination is not None and listing.pagination.selector is not None
    is_repeat = bool(rows) and not fresh and place.number > 1 and not is_chosen
    following, counting = content.get("following", ()), content.get("counting") or {}
    is_guess = bool(counting.get("is_guess"))
    if is_repeat or (is_guess and not rows):
        following = ()
    if following and (place.number >= listing.max_pages or named >= listing.max_items):
        if not content.get("is_end_shown"):
            cut_by = "max_items" if named >= listing.max_items else "max_pages"
        following = ()
    counted = (counting.get("step") or 0, 0, is_guess, counting.get("slot") or "")
    kind = listing_kind(ListPosition(place.number + 1, named, *counted))
    return _Taken(
        items, [DiscoveredLink(*row)._replace(kind=kind) for row in following], len(rows), cut_by, is_repeat, is_guess
    )


def _loads_more(listing: Listing, content: Mapping[str, Any], taken: _Taken, *, has_scripts: bool) -> bool | None:
    """Return whether scrolling may load the rest of the list; None if its script files must be inspected first."""
    paging = listing.pagination
    if paging is None and has_scripts:
        return True
    is_open = paging is None or (paging.mode is PagingMode.NEXT and paging.selector is not None)
    if paging is not None and paging.mode is PagingMode.AUTO:
        is_open = not content.get("following") and not taken.is_repeat
    return (bool(content.get("loads_more")) or None) if is_open else False


def _selector_of(config: Mapping[str, Any]) -> str:
    links = config.get(ITEM_LINKS) or {}
    return str(links.get("css") or links.get("xpath"))[:200]


def _rule_of_list(config: Mapping[str, Any], taken: _Taken) -> tuple[str, str]:
    """Return the rule that a list page is recorded under, and its message."""
    if taken.cut_by is not None and taken.cut_by not in config:
        goes_on = "may go on" if taken.may_end else "goes on"
        message = f"{taken.listed} items; the list {goes_on}, and {taken.cut_by} of list_config was left at its default"
        return LIST_LIMIT, message
    if taken.following and not taken.listed:
        return EMPTY_LIST_PAGE, f"item_links ({_selector_of(config)}) matches no link here, and another page follows"
    if taken.is_repeat:
        return LISTING, f"{taken.listed} items, all of them listed before: the end of the list"
    follows = "another page follows" if taken.following or taken.cut_by else "the last page"
    return LISTING if taken.cut_by is None else LIST_BOUND, f"{taken.listed} items; {follows}"
