"""How many links of one page a crawl follows. The limit bounds memory and processor time."""

from typing import Any

from corral.domain.crawl.item import DiscoveredLink
from corral.extract.links import Links

# Characters of addresses per link of the limit, which bounds the size of the answer of a reader.
_CHARS_PER_LINK = 160
_MIN_CHARS = 8 * 1024 * 1024
_REASON_AT = DiscoveredLink._fields.index("reason")


def max_examined(max_links: int) -> int:
    """References that are resolved: some of them lead out of the crawl, and each costs processor time."""
    return max_links + max_links // 2


def limit_references(links: Links, limit: int) -> Links:
    return links._replace(references=links.references[:limit], dropped=max(0, len(links.references) - limit))


def limit_links(judged: list[list[Any]], limit: int) -> tuple[list[list[Any]], int]:
    """The first links that belong to the crawl, and the first of those that do not; how many of the former are left
    out. A link that would not be fetched is no loss.
    """
    room = {True: limit, False: limit}
    chars = max(_MIN_CHARS, _CHARS_PER_LINK * limit)
    if len(judged) <= limit and sum(len(each[0]) for each in judged) < chars:
        return judged, 0
    kept, dropped = [], 0
    for each in judged:
        is_wanted = each[_REASON_AT] is None
        chars -= len(each[0])
        if room[is_wanted] and chars > 0:
            room[is_wanted] -= 1
            kept.append(each)
        elif is_wanted:
            dropped += 1
    return kept, dropped
