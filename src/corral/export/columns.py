"""Find the columns of a table of records and the type of each, before the first row is written."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from corral.domain.errors import BadInput

# A record with more fields than this uses values as keys; it does not fit a table.
MAX_COLUMNS = 10_000
# Integers up to this size convert to a float without loss.
_EXACT = 2**53
_LONGEST = 2**63
_SHORT = 16_000


class ValueKind(StrEnum):
    """The kind of a value in a column."""

    TRUTH = "truth"
    NUMBER = "number"
    LONG = "long"  # an integer that a float cannot hold without loss
    FRACTION = "fraction"
    TEXT = "text"
    OTHER = "other"  # lists, objects, and numbers beyond 64 bits


class ColumnType(StrEnum):
    TRUTH = "truth"
    WHOLE = "whole"
    FRACTION = "fraction"
    TEXT = "text"
    JSON = "json"  # every value as JSON, so that a reader can tell text from numbers in a mixed column


_TYPES = (
    (frozenset({ValueKind.TEXT}), ColumnType.TEXT),
    (frozenset({ValueKind.TRUTH}), ColumnType.TRUTH),
    (frozenset({ValueKind.NUMBER, ValueKind.LONG}), ColumnType.WHOLE),
    (frozenset({ValueKind.NUMBER, ValueKind.FRACTION}), ColumnType.FRACTION),
)


def kind_of(value: Any) -> ValueKind | None:
    """Return the kind of a value; None if there is no value."""
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
    longest: int = 0  # length of its longest text in UTF-16 units, as spreadsheets count

    @property
    def type(self) -> ColumnType:
        return next((name for kinds, name in _TYPES if self.kinds <= kinds), ColumnType.JSON)


class Columns:
    """The columns of a table: usual ones that occur, then requested ones, then all others that were found, by name."""

    def __init__(self, requested: Sequence[str] = (), usual: Sequence[str] = ()) -> None:
        self._usual = frozenset(usual) - frozenset(requested)
        self._leading = tuple(dict.fromkeys((*usual, *requested)))
        self._all = {name: Column() for name in self._leading}
        self._present: set[str] = set()
        self.records = 0

    def scan(self, records: Iterable[Mapping[str, Any]]) -> None:
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
        """Return the column names in order, without usual columns that no record has.

        A table without records has all columns.
        """
        absent = self._usual - self._present if self.records else frozenset()
        leading = [name for name in self._leading if name not in absent]
        return (*leading, *sorted(name for name in self._all if name not in self._leading))

    def __getitem__(self, name: str) -> Column:
        return self._all[name]

    def can_hold(self, record: Mapping[str, Any]) -> bool:
        """Return False for a record that was written after the scan and does not fit the columns."""
        for name, value in record.items():
            column = self._all.get(name)
            if column is None:
                return False
            kind = kind_of(value)
            if kind is not None and (kind not in column.kinds or _length(value, kind) > column.longest):
                return False
        return True


def _length(value: Any, kind: ValueKind) -> int:
    """Return the length of a text in UTF-16 units.

    Characters of a short text are counted instead: it fits one cell in either unit.
    """
    if kind is ValueKind.OTHER:
        value, kind = json_text(value), ValueKind.TEXT
    if kind is not ValueKind.TEXT:
        return 0
    return len(value) if value.isascii() or len(value) < _SHORT else len(value.encode("utf-16-le", "replace")) // 2


def json_text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
