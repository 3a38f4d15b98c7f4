"""The interface of one open transaction, which query functions take, and the compiler of their statements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler

Row = tuple[Any, ...]

_PREFIX = "p_"

# Sorts after every id in any collation; many collations of PostgreSQL sort punctuation such as `~` before digits.
LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"


@dataclass
class FeedGaps:
    """What this process knows about missing event positions on PostgreSQL; `queries.feed` keeps it up to date."""

    # A position that is missing up to here will never appear.
    settled: int = 0
    # Positions up to the first number were assigned to transactions numbered below the second.
    waiting: tuple[int, int] | None = None


class Tx(Protocol):
    """`now_ms` is for leases and due times and never jumps; `wall_ms` is calendar time."""

    now_ms: int
    wall_ms: int
    is_postgres: bool
    # True if this operation failed on a unique constraint before: an earlier try may have been committed without
    # answer.
    is_repeat: bool
    # None on databases where event positions never appear out of order.
    gaps: FeedGaps | None

    def all(self, statement: ClauseElement, params: dict[str, Any] | None = None) -> list[Row]:
        """Return every row of one statement."""
        ...

    def run(self, statement: ClauseElement, params: dict[str, Any] | None = None) -> int:
        """Execute one statement; return the number of rows it changed."""
        ...

    def many(self, statement: ClauseElement, params: Sequence[dict[str, Any]]) -> int:
        """Execute one statement for each set of parameters; return the number of rows changed in total."""
        ...

    def every(self, statement: ClauseElement, params: Sequence[dict[str, Any]]) -> bool:
        """Execute one statement for each set of parameters, if each of them changes a row.

        False if one did not, or if this database gains nothing by it; then nothing is written.
        """
        ...

    def many_returning(self, statement: ClauseElement, params: Sequence[dict[str, Any]]) -> list[Row | None]:
        """Return the row that the statement returned for each set of parameters, or None if it matched nothing."""
        ...


Bind = Callable[[dict[str, Any]], tuple[Any, ...]]


class Compiler:
    """Compiles each statement once per dialect, so that running it costs no more than the bare driver.

    Parameters go to the driver by position, which both drivers bind twice as fast as names.
    """

    def __init__(self, dialect: Dialect) -> None:
        assert dialect.positional, "the dialect has to take its parameters by position"
        self._dialect = dialect
        # Keyed by identity: statements are module constants, and the value keeps them alive.
        self._compiled: dict[int, tuple[str, Bind, ClauseElement]] = {}

    def sql(self, statement: ClauseElement) -> tuple[str, Bind]:
        """Return the SQL text, and the function that puts named values into its order."""
        found = self._compiled.get(id(statement))
        if found is None:
            compiled = statement.compile(dialect=self._dialect, compile_kwargs={"render_postcompile": True})
            assert isinstance(compiled, SQLCompiler)
            found = (str(compiled), _binding(compiled), statement)
            self._compiled[id(statement)] = found
        return found[0], found[1]


def _binding(compiled: SQLCompiler) -> Bind:
    names = [name.removeprefix(_PREFIX) for name in compiled.positiontup or ()]
    constants = {name: value for name, value in compiled.params.items() if not name.startswith(_PREFIX)}
    if not names:
        return lambda _: ()
    if constants:
        return lambda params: tuple([constants[name] if name in constants else params[name] for name in names])
    if len(names) == 1:
        [only] = names
        return lambda params: (params[only],)
    return itemgetter(*names)


def first(rows: list[Row]) -> Row | None:
    return rows[0] if rows else None


def param(name: str) -> sa.BindParameter[Any]:
    """Return a named parameter without a type, so that either driver takes the value unchanged.

    A prefix separates it from the names SQLAlchemy gives to constants and columns.
    """
    return sa.bindparam(f"{_PREFIX}{name}", None, required=False)


def is_state(column: sa.ColumnElement[Any], state: str) -> sa.ColumnElement[bool]:
    """Compare with a literal, not a parameter, so that SQLite chooses the partial index of that state."""
    text: sa.ColumnClause[str] = sa.literal_column(f"'{state}'")
    return column == text


def values(**params: Any) -> dict[str, Any]:
    """Return the values of parameters made with `param`."""
    return params


def insert_params(table: sa.Table, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return one parameter for each column."""
    return {column.name: param(column.name) for column in table.columns if column.name not in without}


def insert_all(table: sa.Table, *, without: tuple[str, ...] = ()) -> sa.Insert:
    return sa.insert(table).values(insert_params(table, without=without))
