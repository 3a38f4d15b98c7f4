"""JSON, JSON lines and CSV."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from corral.export.columns import Columns, json_text
from corral.export.formulas import is_formula
from corral.export.outbox import Outbox

_OPTIONS = orjson.OPT_NON_STR_KEYS


class JsonWriter:
    """One array, a record on each line."""

    def __init__(self, out: Outbox) -> None:
        self._out = out
        self._before = b"[\n"

    def add(self, records: Iterable[Mapping[str, Any]]) -> int:
        lines = [orjson.dumps(record, option=_OPTIONS) for record in records]
        if lines:
            self._out.write(self._before + b",\n".join(lines))
            self._before = b",\n"
        return len(lines)

    def end(self) -> None:
        self._out.write(b"[]\n" if self._before == b"[\n" else b"\n]\n")


class JsonLinesWriter:
    def __init__(self, out: Outbox) -> None:
        self._out = out

    def add(self, records: Iterable[Mapping[str, Any]]) -> int:
        lines = [orjson.dumps(record, option=_OPTIONS | orjson.OPT_APPEND_NEWLINE) for record in records]
        self._out.write(b"".join(lines))
        return len(lines)

    def end(self) -> None:
        pass


class CsvWriter:
    """A column per field. Text that a spreadsheet would execute gets a leading apostrophe."""

    def __init__(self, out: Outbox, columns: Columns) -> None:
        self._out = out
        self._columns = columns
        self._names = columns.names
        self._write([[cell(name) for name in self._names]])

    def add(self, records: Iterable[Mapping[str, Any]]) -> int:
        rows = [
            [cell(record.get(name)) for name in self._names] for record in records if self._columns.can_hold(record)
        ]
        self._write(rows)
        return len(rows)

    def _write(self, rows: list[list[Any]]) -> None:
        text = io.StringIO(newline="")
        # RFC 4180 uses \r\n; with a bare \n, the csv module leaves a bare \r inside a cell unquoted.
        csv.writer(text, lineterminator="\r\n").writerows(rows)
        self._out.write(text.getvalue().encode())

    def end(self) -> None:
        pass


def cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, dict | list | bool):
        value = json_text(value)
    if isinstance(value, str):
        plain = value.replace("\0", "")
        # Text that already has apostrophes before a formula gets one more, so removing one always restores the text.
        return f"'{plain}" if is_formula(plain) else plain
    return value
