"""Standard output: tables and colour on a terminal, plain columns in a pipe, JSON on request.

Text from web pages is escaped first: a title must not be able to control the terminal.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

TONES = {
    "queued": "cyan",
    "running": "blue",
    "paused": "yellow",
    "waiting_for_human": "yellow",
    "breaker": "yellow",
    "completed": "green",
    "partial": "yellow",
    "failed": "red",
    "cancelled": "bright_black",
    "validated": "bright_black",
    "live": "green",
    "stopping": "yellow",
    "lost": "red",
    "✓": "green",
    "!": "yellow",
    "✗": "red",
    "·": "bright_black",
}
_MAX_CELL = 500
_WIDE = 100
# Control characters that JSON does not escape and some terminals obey.
_LEFT_BY_JSON = re.compile("[\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")

Cell = str | int | float | None


def on_terminal() -> bool:
    return sys.stdout.isatty()


def console(*, stderr: bool = False) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def printable(value: object, limit: int = _MAX_CELL) -> str:
    """Return the text as one line without control characters."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        value = value.astimezone(UTC).isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z")
    text = value if isinstance(value, str) else compact_json(value)
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return " " if char.isspace() and ord(char) not in (0x2028, 0x2029) else ascii(char)[1:-1]


def compact_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def print_json(value: object, *, compact: bool = False) -> None:

    options = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS | (0 if compact else orjson.OPT_INDENT_2)
    text = orjson.dumps(value, option=options).decode()
    sys.stdout.write(_LEFT_BY_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n")
    sys.stdout.flush()


def print_plan(what: str, about: Mapping[str, object], *, as_json: bool) -> None:
    """Print what --dry-run would have done."""
    if as_json:
        print_json({"would": what, **about})
    else:
        print(f"would {what}; nothing was written")


def print_removed(what: str, identity: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"removed": what, "id": identity})
    else:
        print(f"{what} {identity} was removed")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, nothing: str = "nothing to show") -> None:
    """Print a table. A narrow terminal drops columns marked with ? and folds those marked with …."""
    if not rows:
        print(nothing)
    elif on_terminal():
        _print_rich(columns, rows)
    else:
        _print_plain([_title(name) for name in columns], rows)


def _title(name: str) -> str:
    return name.rstrip("?…")


def _print_rich(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    from rich.table import Table

    terminal = console()
    indexes = [index for index, name in enumerate(columns) if terminal.width >= _WIDE or not name.endswith("?")]
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    for index in indexes:
        table.add_column(_title(columns[index]), no_wrap=not columns[index].endswith("…"), overflow="fold", min_width=1)
    for row in rows:
        table.add_row(*(style_cell(row[index]) for index in indexes))
    terminal.print(table)


def style_cell(cell: Cell) -> "Text":
    from rich.text import Text

    text = printable(cell)
    return Text(text, style=TONES.get(text, ""))


def _print_plain(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Print aligned columns without truncation: a program that reads the pipe needs whole values."""
    lines = [list(columns), *([printable(cell) or "-" for cell in row] for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def print_properties(properties: Mapping[str, Any]) -> None:
    """Print one object, a line per property; empty properties are omitted."""
    texts = {name: printable(value) for name, value in properties.items() if value not in (None, "", {}, [])}
    width = max(len(name) for name in texts)
    if not on_terminal():
        for name, value in texts.items():
            print(f"{name.ljust(width)}  {value}")
        return
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in texts.items():
        table.add_row(name, style_cell(value))
    console().print(table)


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    """Return the age of a moment in one unit, or `in 8 s` for the future."""
    if moment is None:
        return ""
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    text = _format_seconds(abs(seconds))
    return f"{text} ago" if seconds >= 0 else f"in {text}"


def _format_seconds(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def format_duration(start: datetime | None, end: datetime | None) -> str:
    return "" if start is None or end is None else f"{(end - start).total_seconds():.1f} s"
