"""Which columns a table of records has, and of which type each is: found out before the first row is written."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from corral.domain.errors import BadInput

# A record with more fields than this uses values as keys; it does not fit a table.
MAX_COLUMNS = 10_000
# Whole numbers up to here are the same number as a fraction.
_EXACT = 2**53
_LONGEST = 2**63
_SHORT = 16_000


class ValueKind(StrEnum):
    """What values of a column are."""

    TRUTH = "truth"
    NUMBER = "number"
    LONG = "long"  # too long to be a fraction without loss
    FRACTION = "fraction"
    TEXT = "text"
    OTHER = "other"  # lists, objects, and numbers beyond 64 bits


class ColumnType(StrEnum):
    TRUTH = "truth"
    WHOLE = "whole"
    FRACTION = "fraction"
    TEXT = "text"
    JSON = "json"  # of every value, so that text and numbers in one column can be told apart


_TYPES = (
    (frozenset({ValueKind.TEXT}), ColumnType.TEXT),
    (frozenset({ValueKind.TRUTH}), ColumnType.TRUTH),
    (frozenset({ValueKind.NUMBER, ValueKind.LONG}), ColumnType.WHOLE),
    (frozenset({ValueKind.NUMBER, ValueKind.FRACTION}), ColumnType.FRACTION),
)


def kind_of(value: Any) -> ValueKind | None:
    """None for a value that is not there."""
    if isinstance(value, str):
        return ValueKind.TEXT
    if value is None:
        return None
    if isinstance(value, bool):
        return ValueKind.TRUTH
    if isinstance(value, int):
        if -_EXACT <= value <= _EXACT:
            return ValueKind.NUMBER
        return ValueKind.LONG if -_LONGEST <= value < _LONGEST else ValueKind.OTHER
    return ValueKind.FRACTION if isinstance(value, float) else ValueKind.OTHER


@dataclass(slots=True)
class Column:
    kinds: set[ValueKind] = field(default_factory=set)
    longest: int = 0  # of its texts, in the units that spreadsheets count in

    @property
    def type(self) -> ColumnType:
        return next((name for kinds, name in _TYPES if self.kinds <= kinds), ColumnType.JSON)


class Columns:
    """The usual ones as far as there are any, those that were asked for, and what else was found, by name."""

    def __init__(self, asked: Sequence[str] = (), usual: Sequence[str] = ()) -> None:
        self._usual = frozenset(usual) - frozenset(asked)
        self._asked = tuple(dict.fromkeys((*usual, *asked)))
        self._all = {name: Column() for name in self._asked}
        self._present: set[str] = set()
        self.records = 0

    def look_at(self, records: Iterable[Mapping[str, Any]]) -> None:
        for record in records:
            self.records += 1
            self._present.update(record)
            for name, value in record.items():
                column = self._all.get(name)
                if column is None:
                    column = self._all[name] = Column()
                kind = kind_of(value)
                if kind is None:
                    continue
                column.kinds.add(kind)
                column.longest = max(column.longest, _length(value, kind))
        if len(self._all) > MAX_COLUMNS:
            raise BadInput(
                f"the records have more than {MAX_COLUMNS:,} different fields, too many for a table",
                field="format",
                hint="export them as jsonl or json",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """A table without records has all of them."""
        absent = self._usual - self._present if self.records else frozenset()
        asked = [name for name in self._asked if name not in absent]
        return (*asked, *sorted(name for name in self._all if name not in self._asked))

    def __getitem__(self, name: str) -> Column:
        return self._all[name]

    def have(self, record: Mapping[str, Any]) -> bool:
        """False for a record that was written after we looked: the table has no place for it."""
        for name, value in record.items():
            column = self._all.get(name)
            if column is None:
                return False
            kind = kind_of(value)
            if kind is not None and (kind not in column.kinds or _length(value, kind) > column.longest):
                return False
        return True


def _length(value: Any, kind: ValueKind) -> int:
    """Of a text in units of UTF-16, as far as it matters: short ones cannot become long by counting them so."""
    if kind is ValueKind.OTHER:
        value, kind = json_text(value), ValueKind.TEXT
    if kind is not ValueKind.TEXT:
        return 0
    return len(value) if value.isascii() or len(value) < _SHORT else len(value.encode("utf-16-le", "replace")) // 2


def json_text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
