"""What is read of an item that may be handed out: the fields of domain.item.Item, and what decides about it."""

from corral.store.tables import items

NEXT = (
    *(items.c.id, items.c.url, items.c.url_key, items.c.depth, items.c.attempt, items.c.kind),
    *(items.c.due_at, items.c.host, items.c.losses),
)
DEPTH, ATTEMPT, KIND, DUE_AT, HOST, LOSSES = range(3, 9)
