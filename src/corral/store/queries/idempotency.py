"""Keys of repeated creates, remembered in the transaction that created."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from corral.domain.errors import IdempotencyKeyReuse
from corral.domain.runs.idempotency import IdempotencyKey
from corral.store.tables import idempotency
from corral.store.tx import Tx, insert_params, param, values

# The insert itself asks whether the key is new: of two who come together, one waits and then finds the other's.
_TAKE_SQLITE = sqlite.insert(idempotency).values(insert_params(idempotency)).on_conflict_do_nothing()
_TAKE_POSTGRES = postgresql.insert(idempotency).values(insert_params(idempotency)).on_conflict_do_nothing()
_SEEN = sa.select(idempotency.c.fingerprint, idempotency.c.resource_id).where(idempotency.c.key == param("key"))
_FORGET = sa.delete(idempotency).where(idempotency.c.created_at < param("before"))


def find_or_add(tx: Tx, key: IdempotencyKey, resource_id: str) -> str | None:
    """What this key has created before, or None: then it stands for `resource_id` from now on.

    Refuses a key that came with another request.
    """
    row = values(key=key.key, fingerprint=key.fingerprint, resource_id=resource_id, created_at=tx.wall_ms)
    if tx.run(_TAKE_POSTGRES if tx.is_postgres else _TAKE_SQLITE, row) == 1:
        return None
    return find(tx, key)


def find(tx: Tx, key: IdempotencyKey) -> str | None:
    """What this key has created before; None where it is new."""
    rows = tx.all(_SEEN, values(key=key.key))
    if not rows:
        return None
    fingerprint, found = rows[0]
    if fingerprint != key.fingerprint:
        raise IdempotencyKeyReuse
    return str(found)


def forget(tx: Tx, before_ms: int) -> int:
    return tx.run(_FORGET, values(before=before_ms))
