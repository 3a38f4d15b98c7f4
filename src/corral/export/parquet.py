"""Parquet: columns of one type each, compressed, in groups of rows that fit into memory."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corral.export.columns import Columns, ColumnType, json_text
from corral.export.outbox import Outbox

# Write a row group when it reaches this many rows or characters.
_GROUP_ROWS = 10_000
_GROUP_CHARS = 8 * 1024 * 1024

_TYPES = {
    ColumnType.TRUTH: pa.bool_(),
    ColumnType.WHOLE: pa.int64(),
    ColumnType.FRACTION: pa.float64(),
    ColumnType.TEXT: pa.string(),
    ColumnType.JSON: pa.string(),
}
_IS_JSON = {b"corral:encoding": b"json"}


class ParquetWriter:
    def __init__(self, out: Outbox, columns: Columns) -> None:
        self._columns = columns
        self._types = {name: columns[name].type for name in columns.names}
        self._schema = pa.schema([_field(name, kind) for name, kind in self._types.items()])
        self._file = pq.ParquetWriter(out, self._schema, compression="zstd")
        self._rows: list[Mapping[str, Any]] = []
        self._chars = 0

    def add(self, records: Iterable[Mapping[str, Any]]) -> int:
        count = 0
        for record in records:
            if not self._columns.can_hold(record):
                continue
            count += 1
            self._rows.append(record)
            self._chars += sum(len(value) for value in record.values() if isinstance(value, str | list | dict))
            if len(self._rows) >= _GROUP_ROWS or self._chars >= _GROUP_CHARS:
                self._write()
        return count

    def end(self) -> None:
        if self._rows:
            self._write()
        self._file.close()

    def _write(self) -> None:
        rows, self._rows, self._chars = self._rows, [], 0
        arrays = [
            pa.array([_cell(row.get(name), kind) for row in rows], _TYPES[kind]) for name, kind in self._types.items()
        ]
        self._file.write_table(pa.table(arrays, self._schema), row_group_size=len(rows))


def _field(name: str, kind: ColumnType) -> pa.Field:
    return pa.field(name, _TYPES[kind], metadata=_IS_JSON if kind is ColumnType.JSON else None)


def _cell(value: Any, kind: ColumnType) -> Any:
    return json_text(value) if kind is ColumnType.JSON and value is not None else value
