"""Read-only databases: they create and change nothing, not even files beside the database."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import pysqlite3
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from corral.domain.errors import CorralError, StorageUnavailable, StorageUnusable
from corral.store.backends import sqlite_file
from corral.store.backends.clock import Clock, SystemClock
from corral.store.backends.sqlite import SqliteTx
from corral.store.damage import Damage
from corral.store.tx import Compiler, Row, Tx

T = TypeVar("T")


class _ReadOnly:
    """The common part of read-only databases: it refuses writes."""

    is_postgres = False

    def __init__(self) -> None:
        self.damage = Damage()

    async def write(self, op: Callable[[Tx], T], *, essential: bool = False) -> T:  # noqa: ARG002 - the interface of a database
        raise self._refusal()

    def write_from_thread(self, op: Callable[[Tx], T]) -> T:  # noqa: ARG002
        raise self._refusal()

    def _refusal(self) -> CorralError:
        return StorageUnavailable("the store was opened for reading only", hint="please report this")

    async def close(self) -> None:
        """Do nothing: no connection stays open between two reads."""

    def close_now(self) -> None:
        """Do nothing: no connection stays open between two reads."""

    def restore_reserve(self) -> None:
        """Do nothing: a reader reserves no space."""


class ReadOnlyFile(_ReadOnly):
    """A SQLite file, opened again for every read, so that each read sees the latest writes."""

    def __init__(self, path: Path, *, clock: Clock | None = None) -> None:
        super().__init__()
        self._path = path
        self._clock = clock or SystemClock()
        self._compiler = Compiler(sqlite_dialect(paramstyle="qmark"))

    async def read(self, op: Callable[[Tx], T]) -> T:
        return self._read(op)

    async def read_slow(self, op: Callable[[Tx], T]) -> T:
        return await asyncio.to_thread(self._read, op)

    def _read(self, op: Callable[[Tx], T]) -> T:
        def run(connection: sqlite_file.Connection) -> T:
            connection.execute("BEGIN")
            tx = SqliteTx(connection, self._compiler)
            tx.wall_ms = self._clock.wall_ms()
            tx.now_ms = self._now_ms(connection)
            return op(tx)

        try:
            return sqlite_file.read_quietly(self._path, run)
        except OSError as error:
            raise StorageUnusable(
                f"{self._path} cannot be read ({error.strerror})", hint="check that it is still there"
            ) from error
        except (pysqlite3.Error, OverflowError) as error:
            raise sqlite_file.translate_error(error, self._path) from error

    def _now_ms(self, connection: sqlite_file.Connection) -> int:
        """Return the writers' clock if one was set since the machine started; otherwise the wall clock."""
        stored = dict(connection.execute("SELECT key, value FROM corral_meta").fetchall())
        if stored.get("boot_id") != self._clock.boot_id():
            return self._clock.wall_ms()
        return self._clock.since_boot_ms() + int(stored["offset_ms"])


class Nothing(_ReadOnly):
    """A database that does not exist yet: every list is empty and every id unknown."""

    async def read(self, op: Callable[[Tx], T]) -> T:
        return op(cast(Tx, _NoRows()))

    read_slow = read


class _NoRows:
    """The subset of a transaction that lists and lookups use."""

    gaps = None
    now_ms = wall_ms = 0

    def all(self, *_: Any) -> list[Row]:
        return []
