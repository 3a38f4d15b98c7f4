"""The limit on the URLs that a crawl stores."""

from collections.abc import Sequence

import sqlalchemy as sa

from corral.domain.crawl.item import DiscoveredLink
from corral.store.tables import items
from corral.store.tx import Tx, param, values

_KNOWN = sa.select(items.c.id).where(items.c.run_id == param("run_id"), items.c.url_key == param("url_key"))

_Link = tuple[DiscoveredLink, int | None]


def fit(tx: Tx, run_id: str, found: Sequence[_Link], room: int | None) -> tuple[Sequence[_Link], int]:
    """Return the links to write, and how many URLs are dropped because the limit is reached.

    A link to a known URL needs no room, and a refused link is no loss. Links are looked up only if they may not all
    fit.
    """
    if room is None or len(found) <= room:
        return found, 0
    rows = tx.many_returning(_KNOWN, [values(run_id=run_id, url_key=link.key) for link, _ in found])
    written: list[_Link] = []
    new: set[str] = set()
    lost: set[str] = set()
    for each, known in zip(found, rows, strict=True):
        link = each[0]
        if known is not None or link.key in new:
            written.append(each)
        elif len(new) < room:
            new.add(link.key)
            written.append(each)
        elif link.reason is None:
            lost.add(link.key)
    return written, len(lost)
