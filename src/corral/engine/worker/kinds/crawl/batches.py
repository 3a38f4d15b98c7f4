"""Split results into reports: a page with thousands of links takes several, to keep transactions short."""

from collections.abc import Sequence

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import MAX_ROWS, ItemResult


def next_batch(ended: Sequence[ItemResult], max_links: int = MAX_ROWS) -> tuple[list[ItemResult], list[ItemResult]]:
    """Return the results for the next report, with at most `max_links` links, and the rest.

    An item stays leased until its last links are reported: if the worker is killed in between, the page is read again.
    """
    batch: list[ItemResult] = []
    room = max_links
    for index, result in enumerate(ended):
        if len(result.found) > room:
            part, rest = result.found[:room], result.found[room:]
            if part:
                batch.append(ItemResult(result.id, result.key, ItemState.LEASED, found=part, is_late=result.is_late))
            return batch, [result._replace(found=rest), *ended[index + 1 :]]
        batch.append(result)
        room -= len(result.found)
    return batch, []
