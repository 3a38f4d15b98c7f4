"""Columns of an item that may be leased: the fields of domain.crawl.item.Item, and those that decide about leasing."""

from corral.store.tables import items

_parents = items.alias("parents")

NEXT = (
    *(items.c.id, items.c.url, items.c.url_key, items.c.depth, items.c.attempt, items.c.kind),
    *(items.c.due_at, items.c.host, items.c.losses, _parents.c.url, items.c.rank, items.c.reason),
)
WITH_PARENTS = items.outerjoin(_parents, _parents.c.id == items.c.parent)
DEPTH, ATTEMPT, KIND, DUE_AT, HOST, LOSSES, FOUND_ON, RANK, REASON = range(3, 12)
