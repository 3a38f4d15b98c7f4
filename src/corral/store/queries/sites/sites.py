"""Site memory, per host, set of fields and strategy."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.jobs.job import Strategy
from corral.domain.sites.site import FADES_TO, KnownSite, Memory, Observation
from corral.store.rows import at
from corral.store.tables import recipes, site_memory
from corral.store.tx import Row, Tx, param, values

_OF_HOST = (
    sa.select(site_memory)
    .where(site_memory.c.host == param("host"))
    .order_by(site_memory.c.fields_key, site_memory.c.strategy)
)
_KNOWN = (
    sa.select(
        site_memory.c.host,
        sa.func.sum(site_memory.c.attempts),
        sa.func.max(site_memory.c.updated_at),
        sa.select(sa.func.count()).where(recipes.c.host == site_memory.c.host).scalar_subquery(),
    )
    .group_by(site_memory.c.host)
    .order_by(sa.func.max(site_memory.c.updated_at).desc(), site_memory.c.host)
    .limit(param("limit"))
)
_NAMES = [column.name for column in site_memory.columns]
_INSERT = insert(site_memory).values({name: param(name) for name in _NAMES})
_SUMS = ("weight", "successes", "requested", "found", "cost_ms")
# Every sum is linear in earlier observations, so one statement can add new ones to the stored sums.
_LEARN = _INSERT.on_conflict_do_update(
    index_elements=["host", "fields_key", "strategy"],
    set_={
        **{name: site_memory.c[name] * param("fade") + _INSERT.excluded[name] for name in _SUMS},
        "attempts": site_memory.c.attempts + _INSERT.excluded.attempts,
        "updated_at": _INSERT.excluded.updated_at,
    },
)


def _memory(row: Row) -> Memory:
    cell = dict(zip(_NAMES, row, strict=True))
    cell.pop("updated_at")
    return Memory(**{**cell, "strategy": Strategy(cell["strategy"])})


def of_host(tx: Tx, host: str) -> list[Memory]:
    return [_memory(row) for row in tx.all(_OF_HOST, values(host=host))]


def list_known(tx: Tx, limit: int) -> list[KnownSite]:
    """Return the hosts with any observation, latest first."""
    rows = tx.all(_KNOWN, values(limit=limit))
    return [KnownSite(host, int(attempts), int(recorded), at(last)) for host, attempts, last, recorded in rows]


def learn(tx: Tx, seen: Sequence[Observation]) -> None:
    """Add observations, in the same order for every caller, so that two callers cannot deadlock."""
    grouped: dict[tuple[str, str, str], list[Observation]] = {}
    for each in seen:
        grouped.setdefault((each.host, each.fields_key, each.strategy.value), []).append(each)
    rows = []
    for (host, fields_key, strategy), observations in sorted(grouped.items()):
        memory = Memory(host, fields_key, Strategy(strategy))
        for each in observations:
            memory = memory.after(each)
        sums = {name: getattr(memory, name) for name in (*_SUMS, "attempts")}
        fade = FADES_TO ** len(observations)
        rows.append(
            values(host=host, fields_key=fields_key, strategy=strategy, fade=fade, updated_at=tx.wall_ms, **sums)
        )
    tx.many(_LEARN, rows)
