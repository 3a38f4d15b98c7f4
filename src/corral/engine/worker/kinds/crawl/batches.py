"""Split results into reports: a page with thousands of links takes several, to keep transactions short."""

from collections.abc import Sequence

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import MAX_ROWS, ItemResult


def next_batch(ended: Sequence[ItemResult], most: int = MAX_ROWS) -> tuple[list[ItemResult], list[ItemResult]]:
    """Return the results for the next report, with at most `most` links, and the rest.

    An item stays leased until its last links are reported: if the worker is killed in between, the page is read again.
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
