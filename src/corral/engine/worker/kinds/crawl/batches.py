"""What goes into one step: a page with thousands of links is told in several, so that no transaction is long."""

from collections.abc import Sequence

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import MAX_ROWS, ItemResult


def next_batch(ended: Sequence[ItemResult], most: int = MAX_ROWS) -> tuple[list[ItemResult], list[ItemResult]]:
    """What is told now, with so many links at most, and what is told later.

    An item of which only some links have been told is still leased: killed in between, it is read again.
    """
    now: list[ItemResult] = []
    room = most
    for place, each in enumerate(ended):
        if len(each.found) > room:
            part, rest = each.found[:room], each.found[room:]
            if part:
                now.append(ItemResult(each.id, each.key, ItemState.LEASED, found=part, is_late=each.is_late))
            return now, [each._replace(found=rest), *ended[place + 1 :]]
        now.append(each)
        room -= len(each.found)
    return now, []
