"""Extract from a list page its items and the list page that follows."""

from datetime import date
from typing import Any

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.item import listing_key, short_key
from corral.domain.crawl.job_pages import ITEM_LINKS, Listing
from corral.domain.errors import BadInput
from corral.domain.lists.pagination import PAGINATION
from corral.domain.lists.position import ListPosition, listing_kind
from corral.domain.net.canonical import links_to, url_key
from corral.domain.net.url import parse_target
from corral.extract.crawl_page import CrawlReadOptions, find_refresh
from corral.extract.link_classifier import host_of
from corral.extract.links import MAX_LINKS, links_of
from corral.extract.lists.paging import NO_PAGE, FollowingPages, ListContext, find_following, own_keys
from corral.extract.page import Page


def extract_listing(
    url: str, record: dict[str, Any], page: Page | None, *, ask: CrawlReadOptions, plan: CrawlPlan, today: date
) -> dict[str, Any]:
    """Return JSON: all items of the page, and the following pages with their position in the list.

    The worker knows which items are new, and decides how many of them are taken and whether the list goes on.
    """
    place = ask.listing or ListPosition(1)
    listing = Listing.of(plan.listing or {})
    try:
        base = parse_target((page.base_url if page is not None else "") or url)
    except BadInput:
        return {"items": [], "following": []}
    kept = plan.counting_params
    # A list that links to itself is no item of it.
    lists = own_keys(url, base, plan.start_urls, kept)
    items: dict[str, list[Any]] = {}
    for link in filter(None, links_to(base, read_references(record.get(ITEM_LINKS)), kept)):
        if link.key not in items and link.key not in lists and len(items) < MAX_LINKS:
            reason = plan.scope.refuses(link.url, 1)
            items[link.key] = [link.url, short_key(link.key), host_of(link.url), 1, reason, 1.0]
    following = NO_PAGE
    if listing.pagination is not None:
        context = ListContext(url, base, lists, frozenset(items), kept)
        following = find_following(listing.pagination, record.get(PAGINATION), page, context, place)
    refresh = find_refresh(plan, links_of(page), url, 0, today) if page is not None and not items else None
    if refresh is not None:
        # The list is where it sends its reader.
        target = parse_target(refresh[1][0])
        refresh[1][1], refresh[1][6:] = listing_key(url_key(target, kept)), [None, listing_kind(place)]
    return {"items": list(items.values()), **_following_document(following, plan), "refresh": refresh}


def _following_document(following: FollowingPages, plan: CrawlPlan) -> dict[str, Any]:
    rows = []
    for link in following.links:
        reason = plan.scope.refuses(link.url, 0)
        rows.append([link.url, listing_key(link.key), host_of(link.url), 0, reason, 0.0, None])
    told = {"step": following.step, "slot": following.slot, "is_guess": following.is_guess}
    return {"following": rows, "counting": told, "is_end_shown": following.is_end_shown}


def read_references(value: Any) -> tuple[str, ...]:
    """Of a selector that takes one match or all of them."""
    return tuple(str(each) for each in (value if isinstance(value, list) else [value]) if each)
