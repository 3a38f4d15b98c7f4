"""The slots of each node at a host. Decisions are serialized, so that no slot is assigned twice."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.hosts.quota import QUOTA_S, HostQuota, QuotaGrant, QuotaRequest, compute_quota
from corral.domain.ids import Owner
from corral.store.tables import host_quotas
from corral.store.tx import Tx, insert_params, param, values

_QUOTA_MS = round(QUOTA_S * 1000)
_CLEAN_MS = 60_000
# Quota rows come and go, and a row that does not exist yet cannot be locked. SQLite has one writer at a time.
_LOCK = sa.select(sa.func.pg_advisory_xact_lock(sa.literal_column("7105190")))
_AT = host_quotas.c.host_key == param("host_key")
_MINE = host_quotas.c.owner == param("owner")
_ALIVE = host_quotas.c.until > param("now")
_COLUMNS = tuple(host_quotas.c[name] for name in ("owner", "slots", "wanted", "has_pause", "since"))
_AT_HOST = sa.select(*_COLUMNS).where(_AT, _ALIVE)
_INSERT = insert(host_quotas).values(insert_params(host_quotas))
_KEEP = _INSERT.on_conflict_do_update(
    index_elements=["host_key", "owner"],
    set_={name: _INSERT.excluded[name] for name in ("slots", "wanted", "has_pause", "since", "until")},
)
_DROP = sa.delete(host_quotas).where(_AT, _MINE)
_DROP_ALL = sa.delete(host_quotas).where(_MINE)
_CLEAN = sa.delete(host_quotas).where(host_quotas.c.until < param("before"))
_RENEW = sa.update(host_quotas).where(_MINE).values(until=param("until"))
_OTHER = host_quotas.alias()
# With the smallest quota of another node at the host: 0 means that the node waits for slots.
_CONTESTED = (
    sa.select(host_quotas.c.host_key, sa.func.min(_OTHER.c.slots))
    .select_from(host_quotas.join(_OTHER, _OTHER.c.host_key == host_quotas.c.host_key))
    .where(_MINE, _OTHER.c.owner != param("owner"), _OTHER.c.until > param("now"))
    .group_by(host_quotas.c.host_key)
)


def take(tx: Tx, owner: Owner, requests: Sequence[QuotaRequest]) -> list[QuotaGrant]:
    if tx.is_postgres:
        tx.all(_LOCK)
    return [_take(tx, owner, request) for request in requests]


def _take(tx: Tx, owner: Owner, request: QuotaRequest) -> QuotaGrant:
    rows = tx.all(_AT_HOST, values(host_key=request.host_key, now=tx.now_ms))
    quotas = {row[0]: HostQuota(row[0], row[1], row[2], bool(row[3]), (tx.now_ms - row[4]) / 1000) for row in rows}
    since = {row[0]: row[4] for row in rows}
    mine = quotas.pop(owner, None)
    slots = compute_quota(owner, request, mine, list(quotas.values()))
    held = max(slots, request.in_use)  # active requests count until they end
    is_as_before = mine is not None and bool(mine.slots) == bool(held)
    row = values(
        host_key=request.host_key,
        owner=owner,
        slots=held,
        wanted=request.wanted,
        has_pause=int(request.pause_s > 0),
        since=since[owner] if is_as_before else tx.now_ms,
        until=tx.now_ms + _QUOTA_MS,
    )
    tx.run(_KEEP, row)
    return QuotaGrant(request.host_key, slots, is_contested=bool(quotas))


def find_contested(tx: Tx, owner: Owner) -> dict[str, bool]:
    """Return the hosts that this node shares with another, and whether a node waits for a quota of the host."""
    return {host_key: slots == 0 for host_key, slots in tx.all(_CONTESTED, values(owner=owner, now=tx.now_ms))}


def renew(tx: Tx, owner: Owner) -> None:
    """Renew all quotas of a node, and delete those of nodes that have been silent for a minute."""
    tx.run(_RENEW, values(owner=owner, until=tx.now_ms + _QUOTA_MS))
    tx.run(_CLEAN, values(before=tx.now_ms - _CLEAN_MS))


def drop(tx: Tx, owner: Owner, host_keys: Sequence[str]) -> None:
    tx.many(_DROP, [values(owner=owner, host_key=host_key) for host_key in host_keys])


def drop_all(tx: Tx, owner: Owner) -> None:
    tx.run(_DROP_ALL, values(owner=owner))
