"""Limit the links that a crawl follows from one page, which bounds memory and processor time."""

from typing import Any

from corral.domain.crawl.item import DiscoveredLink
from corral.extract.links import Links

# Characters of URLs per allowed link: bounds the size of a reader's answer.
_CHARS_PER_LINK = 160
_MIN_CHARS = 8 * 1024 * 1024
_REASON_INDEX = DiscoveredLink._fields.index("reason")


def max_examined(max_links: int) -> int:
    """Return how many references to resolve: some of them lead out of the crawl, and each costs processor time."""
    return max_links + max_links // 2


def limit_references(links: Links, limit: int) -> Links:
    return links._replace(references=links.references[:limit], dropped=max(0, len(links.references) - limit))


def limit_links(links: list[list[Any]], limit: int) -> tuple[list[list[Any]], int]:
    """Return the first links that belong to the crawl and the first that do not, and how many were dropped.

    Only links that belong to the crawl count as dropped: the others would not be fetched anyway.
    """
    room = {True: limit, False: limit}
    chars = max(_MIN_CHARS, _CHARS_PER_LINK * limit)
    if len(links) <= limit and sum(len(link[0]) for link in links) < chars:
        return links, 0
    remaining, dropped = [], 0
    for link in links:
        is_wanted = link[_REASON_INDEX] is None
        chars -= len(link[0])
        if room[is_wanted] and chars > 0:
            room[is_wanted] -= 1
            remaining.append(link)
        elif is_wanted:
            dropped += 1
    return remaining, dropped
