"""Extract from a list page its items and the list page that follows it."""

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
    url: str, record: dict[str, Any], page: Page | None, *, options: CrawlReadOptions, plan: CrawlPlan, today: date
) -> dict[str, Any]:
    """Return JSON: all items of the page, and the following pages with their position in the list.

    The worker knows which items are new. It decides how many of them to take, and whether the list continues.
    """
    position = options.listing or ListPosition(1)
    listing = Listing.of(plan.listing or {})
    try:
        base = parse_target((page.base_url if page is not None else "") or url)
    except BadInput:
        return {"items": [], "following": []}
    counting_params = plan.counting_params
    # A link of the list to itself is not an item.
    lists = own_keys(url, base, plan.start_urls, counting_params)
    items: dict[str, list[Any]] = {}
    for link in filter(None, links_to(base, read_references(record.get(ITEM_LINKS)), counting_params)):
        if link.key not in items and link.key not in lists and len(items) < MAX_LINKS:
            reason = plan.scope.refuses(link.url, 1)
            items[link.key] = [link.url, short_key(link.key), host_of(link.url), 1, reason, 1.0]
    following = NO_PAGE
    if listing.pagination is not None:
        context = ListContext(url, base, lists, frozenset(items), counting_params)
        following = find_following(listing.pagination, record.get(PAGINATION), page, context, position)
    refresh = find_refresh(plan, links_of(page), url, 0, today) if page is not None and not items else None
    if refresh is not None:
        # The target of the refresh is the list page.
        target = parse_target(refresh[1][0])
        refresh[1][1], refresh[1][6:] = listing_key(url_key(target, counting_params)), [None, listing_kind(position)]
    return {"items": list(items.values()), **_following_document(following, plan), "refresh": refresh}


def _following_document(following: FollowingPages, plan: CrawlPlan) -> dict[str, Any]:
    rows = []
    for link in following.links:
        reason = plan.scope.refuses(link.url, 0)
        rows.append([link.url, listing_key(link.key), host_of(link.url), 0, reason, 0.0, None])
    counting = {"step": following.step, "slot": following.slot, "is_guess": following.is_guess}
    return {"following": rows, "counting": counting, "is_end_shown": following.is_end_shown}


def read_references(value: Any) -> tuple[str, ...]:
    """Return the references in a value of a selector, which is one match or a list of all."""
    return tuple(str(entry) for entry in (value if isinstance(value, list) else [value]) if entry)
