"""Files read back by programs that know nothing of Corral."""

import csv
import io
import json
import re
import unicodedata
from typing import Any

import openpyxl

# How Excel writes characters that XML cannot; the reader leaves them as they are.
_ESCAPED = re.compile("_x([0-9A-F]{4})_")
# The rule of docs/howto/exports.md, written down a second time.
_STARTS = frozenset("=+-@\t\r\n\u2010\u2011\u2012\u2013\u2212\ufe58")
_BLANK = frozenset("'\u115f\u1160\u3164\uffa0\u2800")


def jsonl(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.decode().split("\n") if line]


def from_csv(data: bytes) -> list[dict[str, str]]:
    """With the apostrophe taken away that the documentation tells of."""
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    plain = [[cell[1:] if cell.startswith("'") and starts_formula(cell) else cell for cell in row] for row in rows]
    return [dict(zip(plain[0], row, strict=True)) for row in plain[1:]]


def starts_formula(cell: str) -> bool:
    for each in cell:
        if each not in _STARTS and (each in _BLANK or unicodedata.category(each)[0] in "CMZ"):
            continue
        return each in _STARTS or unicodedata.normalize("NFKC", each) in _STARTS
    return False


def parquet(data: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parquet_file(data).read().to_pylist()
    return found


def parquet_file(data: bytes) -> Any:
    import pyarrow.parquet as pq  # starts a thread

    return pq.ParquetFile(io.BytesIO(data))


def xlsx(data: bytes) -> dict[str, list[list[Any]]]:
    """The rows of every sheet, each cell a value and none a formula."""
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    found: dict[str, list[list[Any]]] = {}
    for sheet in book.worksheets:
        rows = list(sheet.iter_rows())
        assert all(cell.data_type in ("s", "n", "b", "inlineStr") for row in rows for cell in row)
        width = len(rows[0])  # of the head: what is empty at the end of a row is not written
        values = [[_unescape(cell.value) for cell in row] for row in rows]
        found[sheet.title] = [[*row, *[None] * (width - len(row))] for row in values]
    book.close()
    return found


def _unescape(value: Any) -> Any:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value) if isinstance(value, str) else value
