"""Read the rows of a query from a SQLite or PostgreSQL database of the user, read-only."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from corral.domain.coverage.errors import InventoryUnreadable
from corral.domain.coverage.gap import Entry
from corral.domain.coverage.values import Value

_BATCH_ROWS = 2000
_TIMEOUT_S = 600
_SQLITE = "sqlite:///"


def read_rows(url: str, query: str, columns: Sequence[str], root: Path) -> Iterator[tuple[Any, ...]]:
    if url.startswith(_SQLITE):
        rows = _read_sqlite(root / url.removeprefix(_SQLITE), query)
    elif url.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        rows = _read_postgres(url.replace("postgresql+psycopg://", "postgresql://", 1), query)
    else:
        supported = "sqlite:///FILE and postgresql://HOST/DATABASE"
        raise InventoryUnreadable(
            f"cannot read from {url.partition(':')[0]!r} databases", hint=f"supported: {supported}"
        )
    with closing(rows):
        for row in rows:
            if len(row) != len(columns):
                raise InventoryUnreadable(f"the query gives {len(row)} columns, but `columns` names {len(columns)}")
            yield row


def _read_sqlite(path: Path, query: str) -> Generator[tuple[Any, ...], None, None]:
    import pysqlite3 as sqlite  # noqa: PLC0415 - only where a source uses it

    if not path.is_file():
        raise InventoryUnreadable(f"there is no database {path}")
    try:
        address = f"{path.absolute().as_uri()}?mode=ro"
        # A generator that is not read to its end may be closed by another thread.
        with closing(sqlite.connect(address, uri=True, check_same_thread=False)) as connection:
            cursor = connection.execute(query)
            while rows := cursor.fetchmany(_BATCH_ROWS):
                yield from rows
    except sqlite.Error as error:
        raise InventoryUnreadable(f"the query failed: {error}") from None


def _read_postgres(url: str, query: str) -> Generator[tuple[Any, ...], None, None]:
    import psycopg  # noqa: PLC0415 - only where a source uses it

    options = f"-c statement_timeout={_TIMEOUT_S * 1000} -c default_transaction_read_only=on"
    try:
        with (
            psycopg.connect(url, connect_timeout=10, options=options) as connection,
            connection.cursor(name="corral_rows") as cursor,
        ):
            cursor.itersize = _BATCH_ROWS
            cursor.execute(query.encode())
            yield from cursor
    except psycopg.Error as error:
        raise InventoryUnreadable(f"the query failed: {str(error).splitlines()[0]}") from None


def key_values(row: Sequence[Any], columns: Sequence[str], names: Sequence[str]) -> tuple[Value, ...]:
    """Return the dimensions of a row, in the order of `names`."""
    found = dict(zip(columns, row, strict=True))
    return tuple([_read_value(found[name], name) for name in names])


def entry_of(row: Sequence[Any], columns: Sequence[str], names: Sequence[str]) -> Entry:
    """Return a row as an inventory entry: the dimensions, and `size` and `modified` if the query has them."""
    found = dict(zip(columns, row, strict=True))
    size = found.get("size")
    if size is not None and not isinstance(size, int):
        raise InventoryUnreadable(f"the query gives {size!r} as size; it must be a number of bytes")
    return Entry(key_values(row, columns, names), size, _read_time(found.get("modified")))


def _read_value(value: Any, name: str) -> Value:
    if isinstance(value, str | int) and not isinstance(value, bool):
        return value
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    raise InventoryUnreadable(f"the query gives {value!r} as {name}; it must be text, an integer or a date")


def _read_time(value: Any) -> float | None:
    """Return seconds since 1970 for a number, a timestamp or its text; UTC if it has no zone."""
    if value is None or isinstance(value, int | float):
        return value
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise InventoryUnreadable(f"the query gives {value!r} as modified; it is not a time") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
