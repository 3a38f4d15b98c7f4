"""Turn a fetched and parsed list page into the result of its item: the items it names, and the next list page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corral.domain.crawl.crawl import EMPTY_LIST_PAGE, LIST_BOUND, LIST_LIMIT, LISTING, CrawlPlan, ItemState
from corral.domain.crawl.item import DiscoveredLink, Item, ItemResult, PageSignals
from corral.domain.crawl.job_pages import ITEM_LINKS, Listing
from corral.domain.lists.pagination import PagingMode
from corral.domain.lists.position import ListPosition, listing_kind, listing_position
from corral.domain.lists.progress import ListProgress
from corral.domain.runs.outcome import Failed, FailureCode
from corral.extract.page_reader import ReadAnswer
from corral.fetch.crawl.page_result import add_signs, needs_scripts, result_of_refresh
from corral.fetch.response import Response


@dataclass(frozen=True, slots=True)
class _ListLinks:
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
    position = listing_position(item.kind) or ListPosition(1)
    if (redirected := result_of_refresh(item, answer, read)) is not None:
        return redirected
    if position.number == 1 and not content.get("items"):
        message = f"item_links ({_selector_of(config)}) matches no link on the first page of the list"
        message += "; its scripts were not run, strategy auto or browser runs them" if needs_scripts(read) else ""
        return Failed(FailureCode.EXTRACTION, message, "item_links", stats={"needs_scripts": needs_scripts(read)})
    listing = Listing.of(config)
    links = _select(content, listing, position, set(progress.find_new(item.id, _keys_of(content))))
    found = (*(DiscoveredLink(*each) for each in links.items), *links.following)
    rule, message = _rule_of_list(config, links)
    result = ItemResult(item.id, item.key, ItemState.SKIPPED, rule, message, found=found, http_status=answer.status)
    loads_more = _loads_more(listing, content, links, has_scripts=needs_scripts(read))
    scripts = tuple(content.get("scripts", ())) if loads_more is None else ()
    signals = add_signs(PageSignals(loads_more=bool(loads_more), scripts=scripts), content)
    return result._replace(size=answer.raw_bytes, signals=signals)


def _keys_of(content: Mapping[str, Any]) -> list[str]:
    return [row[1] for row in content.get("items", ())]


def _select(content: Mapping[str, Any], listing: Listing, position: ListPosition, new: set[str]) -> _ListLinks:
    """Select new items within max_items, and the following pages while the limits and the list allow."""
    rows = content.get("items", [])
    fresh = [row for row in rows if row[1] in new]
    items = fresh[: max(0, listing.max_items - position.named)]
    cut_by = "max_items" if len(items) < len(fresh) else None
    named = position.named + len(items)
    # A user's selector is followed as written; in any case, each page URL is visited only once.
    is_chosen = listing.pagination is not None and listing.pagination.selector is not None
    is_repeat = bool(rows) and not fresh and position.number > 1 and not is_chosen
    following, counting = content.get("following", ()), content.get("counting") or {}
    is_guess = bool(counting.get("is_guess"))
    if is_repeat or (is_guess and not rows):
        following = ()
    if following and (position.number >= listing.max_pages or named >= listing.max_items):
        if not content.get("is_end_shown"):
            cut_by = "max_items" if named >= listing.max_items else "max_pages"
        following = ()
    counted = (counting.get("step") or 0, 0, is_guess, counting.get("slot") or "")
    kind = listing_kind(ListPosition(position.number + 1, named, *counted))
    return _ListLinks(
        items, [DiscoveredLink(*row)._replace(kind=kind) for row in following], len(rows), cut_by, is_repeat, is_guess
    )


def _loads_more(listing: Listing, content: Mapping[str, Any], links: _ListLinks, *, has_scripts: bool) -> bool | None:
    """Return whether scrolling may load the rest of the list; None if its script files must be inspected first."""
    paging = listing.pagination
    if paging is None and has_scripts:
        return True
    is_open = paging is None or (paging.mode is PagingMode.NEXT and paging.selector is not None)
    if paging is not None and paging.mode is PagingMode.AUTO:
        is_open = not content.get("following") and not links.is_repeat
    return (bool(content.get("loads_more")) or None) if is_open else False


def _selector_of(config: Mapping[str, Any]) -> str:
    links = config.get(ITEM_LINKS) or {}
    return str(links.get("css") or links.get("xpath"))[:200]


def _rule_of_list(config: Mapping[str, Any], links: _ListLinks) -> tuple[str, str]:
    """Return the rule that a list page is recorded under, and its message."""
    if links.cut_by is not None and links.cut_by not in config:
        goes_on = "may go on" if links.may_end else "goes on"
        message = f"{links.listed} items; the list {goes_on}, and {links.cut_by} of list_config was left at its default"
        return LIST_LIMIT, message
    if links.following and not links.listed:
        return EMPTY_LIST_PAGE, f"item_links ({_selector_of(config)}) matches no link here, and another page follows"
    if links.is_repeat:
        return LISTING, f"{links.listed} items, all of them listed before: the end of the list"
    follows = "another page follows" if links.following or links.cut_by else "the last page"
    return LISTING if links.cut_by is None else LIST_BOUND, f"{links.listed} items; {follows}"
