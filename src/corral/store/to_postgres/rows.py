"""Copies the rows of a table from a SQLite file to PostgreSQL as a stream, and compares count and checksum."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from corral.store.tables import Document, host_quotas, meta, metadata, nodes
from corral.store.tx import Row

# Tables about the processes and clock of the old installation.
_LEFT_OUT = {nodes.name, host_quotas.name}
_META_LEFT_OUT = ("boot_id", "offset_ms", "move")
# Columns on the steady clock, which differs between the databases. All other times are calendar times.
STEADY = {
    "runs": ("due_at", "lease_until"),
    "items": ("due_at",),
    "dataset_images": ("due_at",),
    "loops": ("lease_until",),
    "hosts": ("opened_at", "probed_at", "blocked_until", "updated_at"),
}
# In these columns, 0 and 1 mean "at once" and are not times.
_NO_TIME = 1
_REPORT_EVERY_ROWS = 1000
_BATCH_ROWS = 1000
_LARGE_BATCH_ROWS = 20

RowProgress = Callable[[int], None]  # number of rows done
Target = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Sum:
    """A checksum that is equal for the same rows in any order."""

    rows: int
    checksum: int


def tables_to_copy() -> list[sa.Table]:
    return [table for table in metadata.sorted_tables if table.name not in _LEFT_OUT]


def count(source: Any, table: sa.Table) -> int:
    [(found,)] = source.execute(_text(sa.select(sa.func.count()).select_from(_rows(table)))).fetchall()
    return int(found)


def copy(source: Any, target: Target, table: sa.Table, shift_ms: int, report_progress: RowProgress) -> Sum:
    """Copy every row of the file into the empty table; return the sum of the rows sent."""
    summing = _Summing(table, report_progress)
    names = sql.SQL(", ").join(sql.Identifier(column.name) for column in table.columns)
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table.name), names)
    with target.cursor() as cursor, cursor.copy(statement) as copying:
        for row in summing.add_all(_read(source, table, shift_ms)):
            copying.write_row(row)
    return summing.sum


def sum_of(target: Target, table: sa.Table, report_progress: RowProgress) -> Sum:
    """Return the sum of the rows that arrived, read back."""
    summing = _Summing(table, report_progress)
    columns = [
        sql.SQL("{}::text").format(sql.Identifier(column.name)) if _is_document(column) else sql.Identifier(column.name)
        for column in table.columns
    ]
    statement = sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(columns), sql.Identifier(table.name))
    with target.cursor(name="arrived") as cursor:
        has_bodies = any(isinstance(column.type, sa.LargeBinary) for column in table.columns)
        cursor.itersize = _LARGE_BATCH_ROWS if has_bodies else _BATCH_ROWS
        cursor.execute(statement)
        for _ in summing.add_all(cursor):
            pass
    return summing.sum


def continue_numbers(source: Any, target: Target, table: sa.Table) -> None:
    """Continue sequences after the highest number ever assigned, even to a deleted row."""
    for column in table.columns:
        if column.autoincrement is not True:
            continue
        sequence = source.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table.name,)).fetchone()
        [(last,)] = source.execute(_text(sa.select(sa.func.max(column)))).fetchall()
        highest = max(last or 0, sequence[0] if sequence else 0)
        if highest:
            target.execute("SELECT setval(pg_get_serial_sequence(%s, %s), %s)", (table.name, column.name, highest))


def _read(source: Any, table: sa.Table, shift_ms: int) -> Iterator[Row]:
    names = table.columns.keys()
    shifted = [names.index(name) for name in STEADY.get(table.name, ())]
    cursor = source.execute(_text(sa.select(*_rows(table).columns)))
    while rows := cursor.fetchmany(_LARGE_BATCH_ROWS):
        if not shifted:
            yield from rows
            continue
        for row in rows:
            yield _shift(row, shifted, shift_ms)


def _shift(row: Row, indexes: list[int], shift_ms: int) -> Row:
    shifted = list(row)
    for index in indexes:
        if shifted[index] is not None and shifted[index] > _NO_TIME:
            shifted[index] += shift_ms
    return tuple(shifted)


def _rows(table: sa.Table) -> Any:
    if table is not meta:
        return table
    return sa.select(meta).where(meta.c.key.not_in(_META_LEFT_OUT)).subquery()


def _text(statement: sa.Select[Any]) -> str:
    return str(statement.compile(dialect=sqlite_dialect(), compile_kwargs={"literal_binds": True}))


def _is_document(column: sa.Column[Any]) -> bool:
    return column.type is Document


class _Summing:
    def __init__(self, table: sa.Table, report_progress: RowProgress) -> None:
        self._documents = [index for index, column in enumerate(table.columns) if _is_document(column)]
        self._report_progress = report_progress
        self._rows = self._checksum = 0

    def add_all(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            yield row
            self._checksum = (self._checksum + self._digest(row)) % 2**64
            self._rows += 1
            if self._rows % _REPORT_EVERY_ROWS == 0:
                self._report_progress(self._rows)
        self._report_progress(self._rows)

    @property
    def sum(self) -> Sum:
        return Sum(self._rows, self._checksum)

    def _digest(self, row: Row) -> int:
        parts: list[Any] = [hashlib.blake2b(each).digest() if isinstance(each, bytes) else each for each in row]
        for index in self._documents:
            if parts[index] is not None:
                parts[index] = _canonical(parts[index])
        text = repr(parts).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def _canonical(text: str) -> str:
    """Return a canonical form: PostgreSQL keeps a document's content, not its key order or number format."""
    return json.dumps(json.loads(text, parse_float=_number), sort_keys=True, separators=(",", ":"))


def _number(text: str) -> int | float:
    exact = Decimal(text)
    return int(exact) if exact == exact.to_integral_value() else float(text)
