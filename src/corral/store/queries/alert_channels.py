"""The destinations of alerts. The address is sealed; only the vault opens it."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.alerts.channel import AlertChannel, AlertRules, ChannelKind
from corral.domain.errors import AlertChannelNotFound
from corral.store.rows import from_json, to_json
from corral.store.site_tables import alert_channels
from corral.store.tx import Row, Tx, first, insert_params, param, values

_COLUMNS = tuple(alert_channels.c[name] for name in ("name", "kind", "rules", "shown", "sealed"))
_ALL = sa.select(*_COLUMNS).order_by(alert_channels.c.name)
_GET = sa.select(*_COLUMNS).where(alert_channels.c.name == param("name"))
_INSERT = insert(alert_channels).values(insert_params(alert_channels))
_PUT = _INSERT.on_conflict_do_update(
    index_elements=["name"],
    set_={name: _INSERT.excluded[name] for name in ("kind", "rules", "shown", "sealed", "kid", "updated_at")},
)
_DELETE = sa.delete(alert_channels).where(alert_channels.c.name == param("name"))
_RESEAL = (
    sa.update(alert_channels)
    .where(alert_channels.c.name == param("name"), alert_channels.c.sealed == param("old"))
    .values(sealed=param("sealed"), kid=param("kid"))
)
_KIDS = sa.select(alert_channels.c.kid, sa.func.count()).group_by(alert_channels.c.kid)


def _channel(row: Row) -> AlertChannel:
    name, kind, rules, destination, sealed = row
    return AlertChannel(name, ChannelKind(kind), AlertRules.of(from_json(rules)), destination, sealed)


def list_all(tx: Tx) -> list[AlertChannel]:
    return [_channel(row) for row in tx.all(_ALL)]


def get(tx: Tx, name: str) -> AlertChannel:
    row = first(tx.all(_GET, values(name=name)))
    if row is None:
        raise AlertChannelNotFound(name)
    return _channel(row)


def put(tx: Tx, channel: AlertChannel) -> None:
    row = values(
        name=channel.name,
        kind=channel.kind.value,
        rules=to_json(channel.rules.document()),
        shown=channel.redacted,
        sealed=channel.sealed,
        kid=channel.kid,
        updated_at=tx.wall_ms,
    )
    tx.run(_PUT, row)


def delete(tx: Tx, name: str) -> None:
    if tx.run(_DELETE, values(name=name)) == 0:
        raise AlertChannelNotFound(name)


def reseal(tx: Tx, name: str, old: str, sealed: str) -> bool:
    return tx.run(_RESEAL, values(name=name, old=old, sealed=sealed, kid=sealed.partition(".")[0])) == 1


def kids(tx: Tx) -> dict[str, int]:
    """Return the ids of the vault keys that seal channels, with the number of channels each."""
    return {kid: int(count) for kid, count in tx.all(_KIDS)}
