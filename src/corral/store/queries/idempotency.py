"""Idempotency keys, saved in the transaction that creates the resource."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from corral.domain.errors import IdempotencyKeyReuse
from corral.domain.runs.idempotency import IdempotencyKey
from corral.store.tables import idempotency
from corral.store.tx import Tx, insert_params, param, values

# The insert decides whether the key is new: of two concurrent requests, one waits and then finds the other's row.
_TAKE_SQLITE = sqlite.insert(idempotency).values(insert_params(idempotency)).on_conflict_do_nothing()
_TAKE_POSTGRES = postgresql.insert(idempotency).values(insert_params(idempotency)).on_conflict_do_nothing()
_SEEN = sa.select(idempotency.c.fingerprint, idempotency.c.resource_id).where(idempotency.c.key == param("key"))
_FORGET = sa.delete(idempotency).where(idempotency.c.created_at < param("before"))


def find_or_add(tx: Tx, key: IdempotencyKey, resource_id: str) -> str | None:
    """Return the id that this key created before; None for a new key, which is saved for `resource_id`.

    Raises if the key belongs to a different request.
    """
    row = values(key=key.key, fingerprint=key.fingerprint, resource_id=resource_id, created_at=tx.wall_ms)
    if tx.run(_TAKE_POSTGRES if tx.is_postgres else _TAKE_SQLITE, row) == 1:
        return None
    return find(tx, key)


def find(tx: Tx, key: IdempotencyKey) -> str | None:
    """Return the id that this key created before; None for a new key."""
    rows = tx.all(_SEEN, values(key=key.key))
    if not rows:
        return None
    fingerprint, found = rows[0]
    if fingerprint != key.fingerprint:
        raise IdempotencyKeyReuse
    return str(found)


def forget(tx: Tx, before_ms: int) -> int:
    return tx.run(_FORGET, values(before=before_ms))
