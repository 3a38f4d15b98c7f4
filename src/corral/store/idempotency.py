"""Keys of repeated creates, remembered in the transaction that created."""

import sqlalchemy as sa

from corral.domain.errors import IdempotencyKeyReuse
from corral.domain.idempotency import IdempotencyKey
from corral.store.tables import idempotency
from corral.store.tx import Tx, insert_all, param, values

_SEEN = sa.select(idempotency.c.fingerprint, idempotency.c.resource_id).where(
    idempotency.c.key == param("key")
)
_INSERT = insert_all(idempotency)
_FORGET = sa.delete(idempotency).where(idempotency.c.created_at < param("before"))


def seen(tx: Tx, key: IdempotencyKey) -> str | None:
    """The id of what this key created, or None; refuses the key with another request."""
    rows = tx.all(_SEEN, values(key=key.key))
    if not rows:
        return None
    fingerprint, resource_id = rows[0]
    if fingerprint != key.fingerprint:
        raise IdempotencyKeyReuse
    return str(resource_id)


def remember(tx: Tx, key: IdempotencyKey, resource_id: str) -> None:
    tx.run(
        _INSERT,
        values(key=key.key, fingerprint=key.fingerprint, resource_id=resource_id, created_at=tx.wall_ms),
    )


def forget(tx: Tx, before_ms: int) -> int:
    return tx.run(_FORGET, values(before=before_ms))
