"""Something in every table of a SQLite file, made from what the tables declare: a new table comes along by itself."""

import json
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from corral.store.backends import sqlite_file
from corral.store.tables import Document, metadata, nodes

# Texts and documents that the way over could lose: quotes, line ends, the marks of COPY, other scripts, numbers.
_TEXTS = ("plain", "tab\there\\n", "line\nend\r\n", "\\N", "\\.", "“quoted” 'and' \"so\"", "日本語 🐎", "")
_DOCUMENTS: tuple[Any, ...] = (
    {"b": 1, "a": [1.5, 1e16, None, True, "\\u0041"], "deep": {"z": {}, "y": []}},
    {"text": '日本語\n\t\\ "', "big": 2**53 + 1, "small": 1e-9},
    [],
)

# What the database insists on.
_FIXED = {("runs", "state"): "completed", ("runs", "attempt"): 1, ("runs", "max_attempts"): 3, ("crawls", "leased"): 0}


def fill(path: Path, rows: int = 8) -> None:
    connection = sqlite_file.connect(path)
    connection.execute("BEGIN IMMEDIATE")
    for table in metadata.sorted_tables:
        if table is nodes:
            continue
        for number in range(rows):
            row = {column.name: _value(table, column, number) for column in table.columns}
            names = ", ".join(f'"{name}"' for name in row)
            marks = ", ".join("?" for _ in row)
            connection.execute(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", tuple(row.values()))
    connection.execute("COMMIT")
    connection.close()


def _value(table: sa.Table, column: sa.Column[Any], number: int) -> Any:
    if (table.name, column.name) in _FIXED:
        return _FIXED[table.name, column.name]
    if column.type is Document:
        return json.dumps(_DOCUMENTS[number % len(_DOCUMENTS)], ensure_ascii=number % 2 == 0)
    if isinstance(column.type, sa.LargeBinary):
        return bytes(range(256)) * (number + 1)
    if isinstance(column.type, sa.Double):
        return number + 0.1
    if isinstance(column.type, sa.SmallInteger):
        return number % 2
    if isinstance(column.type, sa.Integer | sa.BigInteger):
        return number + 1 if column.primary_key and column.autoincrement is True else number * 1_000_003
    if column.nullable and number % 3 == 0:
        return None
    text = _TEXTS[number % len(_TEXTS)]
    return f"{number}{text}" if column.primary_key or number % 2 else f"{text}{number}"


def rows_of(path: Path, table: sa.Table) -> list[tuple[Any, ...]]:
    connection = sqlite_file.connect(path, readonly=True)
    try:
        names = ", ".join(f'"{column.name}"' for column in table.columns)
        found: list[tuple[Any, ...]] = connection.execute(f"SELECT {names} FROM {table.name}").fetchall()
        return found
    finally:
        connection.close()
