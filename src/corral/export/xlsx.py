"""Write Excel workbooks from front to back, without keeping cells in memory.

The limits of the format lose no data: further rows go to further sheets, longer texts to further columns.
"""

import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any
from xml.sax.saxutils import escape, quoteattr

from corral.domain.errors import BadInput
from corral.export.columns import Columns, json_text
from corral.export.outbox import Outbox

SHEET_ROWS = 1_048_576
SHEET_COLUMNS = 16_384
CELL_CHARS = 32_767
# Excel counts UTF-16 units. A surrogate pair is never split, so a part may be shorter than a full cell.
_PART_CHARS = CELL_CHARS - 2
# Larger integers lose their last digits in a spreadsheet.
_EXACT = 10**15

_HEAD = b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SPREADSHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"

# Characters that XML cannot hold, and text that Excel would read as an escape sequence.
_ESCAPED = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
# A fixed time, so that the same records make the same file.
_EPOCH = (1980, 1, 1, 0, 0, 0)


class XlsxWriter:
    def __init__(self, out: Outbox, columns: Columns, sheet_rows: int = SHEET_ROWS) -> None:
        self._columns = columns
        self._parts = {name: max(1, math.ceil(columns[name].longest / _PART_CHARS)) for name in columns.names}
        width = sum(self._parts.values())
        if width > SHEET_COLUMNS:
            raise BadInput(
                f"the records need {width:,} columns and a sheet of Excel has {SHEET_COLUMNS:,}",
                field="format",
                hint="texts over 32,767 characters take several columns; export as csv, jsonl or parquet",
            )
        self._sheet_rows = sheet_rows
        self._zip = zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._sheets: list[str] = []
        self._sheet: IO[bytes] | None = None
        self._row = 0
        self._begin_sheet()

    def add(self, records: Iterable[Mapping[str, Any]]) -> int:
        count = 0
        rows: list[str] = []
        for record in records:
            if not self._columns.can_hold(record):
                continue
            if self._row >= self._sheet_rows:
                self._write(rows)
                rows = []
                self._begin_sheet()
            rows.append(self._row_of(record))
            self._row += 1
            count += 1
        self._write(rows)
        return count

    def _row_of(self, record: Mapping[str, Any]) -> str:
        cells = [
            cell
            for name, parts in self._parts.items()
            for cell in (_cells(record.get(name), parts) if parts > 1 else (_cell(record.get(name)),))
        ]
        while cells and cells[-1] == "<c/>":
            cells.pop()
        return f"<row>{''.join(cells)}</row>"

    def _write(self, rows: list[str]) -> None:
        assert self._sheet is not None
        self._sheet.write("".join(rows).encode())

    def _begin_sheet(self) -> None:
        self._end_sheet()
        number = len(self._sheets) + 1
        self._sheets.append("records" if number == 1 else f"records {number}")
        self._sheet = self._open(f"xl/worksheets/sheet{number}.xml")
        self._sheet.write(_HEAD + f'<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
        names = [
            f"{name} ({part})" if part > 1 else name for name, count in self._parts.items() for part in _up_to(count)
        ]
        self._write([f"<row>{''.join(_text(name[:CELL_CHARS]) for name in names)}</row>"])
        self._row = 1

    def _end_sheet(self) -> None:
        if self._sheet is not None:
            self._sheet.write(b"</sheetData></worksheet>")
            self._sheet.close()
            self._sheet = None

    def _open(self, name: str) -> IO[bytes]:
        about = zipfile.ZipInfo(name, _EPOCH)
        about.compress_type = zipfile.ZIP_DEFLATED
        return self._zip.open(about, "w", force_zip64=True)

    def end(self) -> None:
        self._end_sheet()
        for name, text in _package(self._sheets).items():
            with self._open(name) as file:
                file.write(_HEAD + text.encode())
        self._zip.close()


def _up_to(count: int) -> range:
    return range(1, count + 1)


def _cell(value: Any) -> str:
    """Return a cell: a boolean or a number, or else text, which Excel never executes as a formula."""
    if value is None or value == "":
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, float | int):
        is_exact = math.isfinite(value) and (isinstance(value, float) or -_EXACT < value < _EXACT)
        return f"<c><v>{value!r}</v></c>" if is_exact else _text(str(value))
    return _text(value if isinstance(value, str) else json_text(value))


def _cells(value: Any, parts: int) -> Sequence[str]:
    """Return a value as the cells of several columns; the longest value of the field needs all of them."""
    if not isinstance(value, str | list | dict):
        return (_cell(value), *("<c/>" for _ in range(parts - 1)))
    pieces = list(_pieces(value if isinstance(value, str) else json_text(value)))
    return [*map(_cell, pieces), *("<c/>" for _ in range(parts - len(pieces)))]


def _pieces(text: str) -> Iterator[str]:
    units = text.encode("utf-16-le", "replace")
    while units:
        end = 2 * CELL_CHARS
        if len(units) > end and 0xD8 <= units[end - 1] < 0xDC:  # the first half of a surrogate pair
            end -= 2
        yield units[:end].decode("utf-16-le")
        units = units[end:]


def _text(text: str) -> str:
    escaped = escape(_ESCAPED.sub(_escape_character, text))
    space = ' xml:space="preserve"' if text != text.strip() or "\n" in text else ""
    return f'<c t="inlineStr"><is><t{space}>{escaped}</t></is></c>'


def _escape_character(found: "re.Match[str]") -> str:
    return f"_x{ord(found[0]):04X}_"


def _package(sheets: Sequence[str]) -> dict[str, str]:
    """Return the other files of a workbook, by name."""
    numbers = _up_to(len(sheets))
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_SPREADSHEET}.worksheet+xml"/>'
        for n in numbers
    )
    named = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="rId{n}"/>' for n, name in zip(numbers, sheets, strict=True)
    )
    related = "".join(
        f'<Relationship Id="rId{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
    )
    return {
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{related}</Relationships>',
        "_rels/.rels": (
            f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument"'
            ' Target="xl/workbook.xml"/></Relationships>'
        ),
        "[Content_Types].xml": (
            f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.'
            'openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{_SPREADSHEET}.sheet.main+xml"/>{overrides}</Types>'
        ),
    }
