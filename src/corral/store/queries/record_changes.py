"""Compare the records of two runs by row key, in batches that fit into memory."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from corral.domain.records.changes import ChangedRow, RowChange, RunComparison, diff_fields
from corral.domain.records.row_key import digest_of
from corral.store.rows import from_json
from corral.store.tables import records
from corral.store.tx import Row, Tx, param, values

MAX_CHANGES = 200
_MAX_BYTES = 1024 * 1024
_PACKED_TO = 4  # PostgreSQL compresses large values and knows only the compressed size
# Rows that one statement compares. A constant: for a parameter, PostgreSQL guesses and may read the whole earlier run.
_SCAN = 1000
# Pairs of rows in which at least one has no digest: their data is compared.
_UNVERIFIED = "unverified"
_SEEN, _ABSENT = "seen", "absent"

_all_of_run, _of_since = records.alias("of_run"), records.alias("of_since")
_COLUMNS = ("id", "row_key", "item_key", "digest")


def _next_rows(run: str) -> sa.Subquery:
    """Select the next rows of a run in id order."""
    chosen = [records.c[name] for name in _COLUMNS]
    of_run = sa.select(*chosen).where(records.c.run_id == param(run), records.c.id > param("after"))
    return of_run.order_by(records.c.id).limit(sa.literal_column(str(_SCAN))).subquery("rows")


def _pair(table: Any, other_run: str) -> tuple[sa.FromClause, Any, Any]:
    """Join each row with its counterpart in another run, by one of two aliases: with a key, and without one.

    Two joins by equality let both databases use an index. One join with OR would read every pair.
    """
    keyed, unkeyed = records.alias("keyed"), records.alias("unkeyed")
    pairs = table.outerjoin(
        keyed, sa.and_(keyed.c.run_id == param(other_run), keyed.c.row_key == table.c.row_key)
    ).outerjoin(
        unkeyed,
        sa.and_(
            unkeyed.c.run_id == param(other_run),
            unkeyed.c.item_key == table.c.item_key,
            unkeyed.c.row_key.is_(None),
            table.c.row_key.is_(None),
        ),
    )
    return pairs, keyed, unkeyed


def _kind(now: Any, keyed: Any, unkeyed: Any) -> sa.ColumnElement[str]:
    before = sa.func.coalesce(keyed.c.digest, unkeyed.c.digest)
    return sa.case(
        (sa.and_(keyed.c.id.is_(None), unkeyed.c.id.is_(None)), sa.literal_column(f"'{RowChange.NEW}'")),
        (now.c.digest == before, sa.literal_column(f"'{RowChange.UNCHANGED}'")),
        (sa.or_(now.c.digest.is_(None), before.is_(None)), sa.literal_column(f"'{_UNVERIFIED}'")),
        else_=sa.literal_column(f"'{RowChange.CHANGED}'"),
    )


def _make_count_seen() -> sa.Select[str, int]:
    pairs, keyed, unkeyed = _pair(_all_of_run, "since")
    kind = _kind(_all_of_run, keyed, unkeyed)
    counted = sa.select(kind, sa.func.count()).select_from(pairs)
    return counted.where(_all_of_run.c.run_id == param("run")).group_by(kind)


def _make_count_absent() -> sa.Select[Any]:
    pairs, keyed, unkeyed = _pair(_of_since, "run")
    counted = sa.select(sa.func.count()).select_from(pairs)
    return counted.where(_of_since.c.run_id == param("since"), keyed.c.id.is_(None), unkeyed.c.id.is_(None))


def _make_list_seen() -> sa.Select[Any]:
    rows = _next_rows("run")
    pairs, keyed, unkeyed = _pair(rows, "since")
    earlier = sa.func.coalesce(keyed.c.id, unkeyed.c.id)
    chosen = sa.select(rows.c.id, rows.c.row_key, _kind(rows, keyed, unkeyed), earlier)
    return chosen.select_from(pairs).order_by(rows.c.id)


def _make_list_absent() -> sa.Select[Any]:
    rows = _next_rows("since")
    pairs, keyed, unkeyed = _pair(rows, "run")
    is_absent = sa.and_(keyed.c.id.is_(None), unkeyed.c.id.is_(None))
    return sa.select(rows.c.id, rows.c.row_key, is_absent).select_from(pairs).order_by(rows.c.id)


_COUNT_SEEN, _COUNT_ABSENT = _make_count_seen(), _make_count_absent()
_LIST_SEEN, _LIST_ABSENT = _make_list_seen(), _make_list_absent()
_DATA = sa.select(records.c.data).where(records.c.id == param("id"))
_SIZES = {
    True: sa.select(sa.func.pg_column_size(records.c.data) * sa.literal_column(str(_PACKED_TO))).where(
        records.c.id == param("id")
    ),
    False: sa.select(sa.func.octet_length(records.c.data)).where(records.c.id == param("id")),
}


class ChangePage(NamedTuple):
    rows: list[ChangedRow]
    cursor: str | None  # None at the end


def count(tx: Tx, comparison: RunComparison) -> tuple[dict[RowChange, int], int]:
    """Return the rows by kind, and how many rows counted as changed must still be compared: see `next_unverified`."""
    params = values(run=comparison.run_id, since=comparison.since or "")
    found = dict.fromkeys(RowChange, 0)
    unverified = 0
    for kind, number in tx.all(_COUNT_SEEN, params):
        found[RowChange.CHANGED if kind == _UNVERIFIED else RowChange(kind)] += number
        unverified += number if kind == _UNVERIFIED else 0
    found[comparison.absent] += tx.all(_COUNT_ABSENT, params)[0][0]
    return found, unverified


def next_unverified(tx: Tx, comparison: RunComparison, after: str) -> tuple[int, str | None]:
    """Return how many of the next rows without a digest have not changed, and the position after them."""
    page = _next_seen(tx, comparison, frozenset({_UNVERIFIED}), after, MAX_CHANGES)
    same = sum(row.change is RowChange.UNCHANGED for row in page.rows)
    return same, None if page.cursor is None else page.cursor.partition(":")[2]


def next_page(
    tx: Tx, comparison: RunComparison, kinds: Collection[RowChange], cursor: str | None, limit: int
) -> ChangePage:
    """Return the next rows of these kinds: those of the later run first, then those that only the earlier one has.

    A page may be empty although others follow.
    """
    part, _, after = (cursor or _SEEN + ":").partition(":")
    page_limit = min(limit, MAX_CHANGES)
    if part == _ABSENT:
        return _next_absent(tx, comparison, after, page_limit) if comparison.absent in kinds else ChangePage([], None)
    wanted = frozenset(str(kind.value) for kind in kinds)
    if wanted & {RowChange.CHANGED.value, RowChange.UNCHANGED.value}:
        wanted |= {_UNVERIFIED}
    page = _next_seen(tx, comparison, wanted, after, page_limit)
    return ChangePage([row for row in page.rows if row.change in kinds], page.cursor or f"{_ABSENT}:")


def _next_seen(tx: Tx, comparison: RunComparison, kinds: frozenset[str], after: str, limit: int) -> ChangePage:
    params = values(run=comparison.run_id, since=comparison.since or "", after=after)
    scanned = tx.all(_LIST_SEEN, params)
    wanted = [row for row in scanned if row[2] in kinds]
    chosen = _fit(tx, [(row[0], row[3]) for row in wanted], limit)
    loaded = _load(tx, [id_ for row in wanted[:chosen] for id_ in (row[0], _earlier(row))])
    rows = [_read_seen(comparison, row, loaded) for row in wanted[:chosen]]
    return ChangePage(rows, _follow(_SEEN, scanned, wanted, chosen))


def _next_absent(tx: Tx, comparison: RunComparison, after: str, limit: int) -> ChangePage:
    params = values(run=comparison.run_id, since=comparison.since or "", after=after)
    scanned = tx.all(_LIST_ABSENT, params)
    wanted = [row for row in scanned if row[2]]
    chosen = _fit(tx, [(row[0],) for row in wanted], limit)
    loaded = _load(tx, [row[0] for row in wanted[:chosen]])
    rows = [_make_row(comparison.absent, row[1], row[0], loaded.get(row[0], {})) for row in wanted[:chosen]]
    return ChangePage(rows, _follow(_ABSENT, scanned, wanted, chosen))


def _follow(part: str, scanned: list[Row], wanted: list[Row], chosen: int) -> str | None:
    """Return the position after the last chosen row, or after all scanned rows."""
    if chosen < len(wanted):
        return f"{part}:{wanted[chosen - 1][0]}"
    return f"{part}:{scanned[-1][0]}" if len(scanned) == _SCAN else None


def _fit(tx: Tx, rows: list[tuple[str | None, ...]], limit: int) -> int:
    """Return how many of the rows fit into memory, at least one."""
    rows = rows[:limit]
    ids = [id_ for row in rows for id_ in row if id_ is not None]
    found = tx.many_returning(_SIZES[tx.is_postgres], [values(id=id_) for id_ in ids])
    sizes = {id_: 0 if row is None else row[0] for id_, row in zip(ids, found, strict=True)}
    total = 0
    for number, row in enumerate(rows):
        total += sum(sizes[id_] for id_ in row if id_ is not None)
        if number and total > _MAX_BYTES:
            return number
    return len(rows)


def _earlier(row: Row) -> str | None:
    """Return the id of the earlier record, if its data is needed."""
    return None if row[2] in (RowChange.NEW, RowChange.UNCHANGED) else row[3]


def _load(tx: Tx, ids: Collection[str | None]) -> dict[str, dict[str, Any]]:
    """Return the data of these records, without records that were deleted meanwhile."""
    wanted = [id_ for id_ in ids if id_ is not None]
    found = tx.many_returning(_DATA, [values(id=id_) for id_ in wanted])
    return {id_: from_json(row[0]) for id_, row in zip(wanted, found, strict=True) if row is not None}


def _read_seen(comparison: RunComparison, row: Row, loaded: Mapping[str, dict[str, Any]]) -> ChangedRow:
    id_, row_key, kind, _ = row
    data, earlier_id = loaded.get(id_, {}), _earlier(row)
    if earlier_id is None:
        return _make_row(RowChange(kind), row_key, id_, data)
    before = loaded.get(earlier_id, {})
    is_same = digest_of(before, comparison.ignored) == digest_of(data, comparison.ignored)
    if kind == _UNVERIFIED and is_same:
        return _make_row(RowChange.UNCHANGED, row_key, id_, data)
    return _make_row(RowChange.CHANGED, row_key, id_, data, diff_fields(before, data, comparison.ignored))


def _make_row(
    change: RowChange, row_key: str | None, id_: str, data: dict[str, Any], fields: dict[str, Any] | None = None
) -> ChangedRow:
    return ChangedRow(change, row_key or str(data.get("url") or id_), id_, data, fields or {})
