"""PostgreSQL behind the store: a few connections, each in a thread that commits what has gathered."""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import psycopg
from psycopg.types.json import set_json_loads
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.sql import ClauseElement

from corral.domain.errors import StorageError, StorageFull, StorageUnavailable, StorageUnusable
from corral.store.crash import CommitPoints
from corral.store.tx import Compiler, Row, Tx

_MAX_GROUP = 64
_WRITERS = 2
_READERS = 4
_CONNECT_S = 2
_OPTIONS = "-c lock_timeout=2000 -c statement_timeout=10000 -c idle_in_transaction_session_timeout=10000 -c timezone=UTC"
# One round trip opens the transaction and asks the one clock everybody shares.
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"

Op = Callable[[Tx], Any]


class PostgresTx:
    is_postgres = True

    def __init__(self, connection: psycopg.Connection[Any], compiler: Compiler) -> None:
        self._connection = connection
        self._compiler = compiler
        self.now_ms = self.wall_ms = 0

    def all(self, statement: ClauseElement, params: dict[str, Any] | None = None) -> list[Row]:
        sql, constants = self._compiler.sql(statement)
        return self._connection.execute(sql, {**constants, **(params or {})}, prepare=True).fetchall()

    def run(self, statement: ClauseElement, params: dict[str, Any] | None = None) -> int:
        sql, constants = self._compiler.sql(statement)
        return self._connection.execute(sql, {**constants, **(params or {})}, prepare=True).rowcount

    def many(self, statement: ClauseElement, params: Sequence[dict[str, Any]]) -> None:
        if not params:
            return
        sql, constants = self._compiler.sql(statement)
        with self._connection.cursor() as cursor:
            cursor.executemany(sql, [{**constants, **each} for each in params])

    def many_returning(self, statement: ClauseElement, params: Sequence[dict[str, Any]]) -> list[Row | None]:
        if not params:
            return []
        if len(params) == 1:
            rows = self.all(statement, params[0])
            return [rows[0] if rows else None]
        sql, constants = self._compiler.sql(statement)
        found: list[Row | None] = []
        with self._connection.cursor() as cursor:
            cursor.executemany(sql, [{**constants, **each} for each in params], returning=True)
            while True:
                found.append(cursor.fetchone())
                if not cursor.nextset():
                    return found


class _Pending:
    __slots__ = ("done", "op")

    def __init__(self, op: Op, done: Callable[[Any, BaseException | None], None]) -> None:
        self.op = op
        self.done = done


class PostgresDatabase:
    is_postgres = True

    def __init__(self, url: str, *, points: CommitPoints | None = None) -> None:
        self._url = url.replace("postgresql+psycopg://", "postgresql://", 1)
        self._points = points or CommitPoints()
        self._compiler = Compiler(PGDialect_psycopg())
        self._waiting: queue.SimpleQueue[_Pending | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="pg-read")
        self._local = threading.local()
        self._connections: list[psycopg.Connection[Any]] = []
        self._guard = threading.Lock()
        self._writers = [
            threading.Thread(target=self._write_loop, name=f"pg-write-{number}", daemon=True)
            for number in range(_WRITERS)
        ]
        for thread in self._writers:
            thread.start()

    async def write(self, op: Op, *, essential: bool = False) -> Any:  # noqa: ARG002 - PostgreSQL has no ballast
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def done(result: Any, error: BaseException | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, future, result, error)

        self._waiting.put(_Pending(op, done))
        return await future

    def write_from_thread(self, op: Op) -> Any:
        return self._alone(op)

    async def read(self, op: Op) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._alone, op)

    read_slow = read

    async def close(self) -> None:
        await asyncio.to_thread(self.close_now)

    def close_now(self) -> None:
        for _ in self._writers:
            self._waiting.put(None)
        for thread in self._writers:
            thread.join()
        self._readers.shutdown(wait=True)
        with self._guard:
            for connection in self._connections:
                connection.close()

    def relay_ballast(self) -> None:
        """Nothing to reserve: the server's disk is not ours."""

    # -- threads -----------------------------------------------------------------------------------

    def _write_loop(self) -> None:
        while (first := self._waiting.get()) is not None:
            group = [first]
            while len(group) < _MAX_GROUP and not self._waiting.empty():
                try:
                    more = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    self._waiting.put(None)
                    break
                group.append(more)
            self._commit(group)

    def _commit(self, group: list[_Pending]) -> None:
        try:
            results = self._transaction([pending.op for pending in group])
        except Exception as error:  # noqa: BLE001 - handed to the one it belongs to
            if len(group) == 1:
                group[0].done(None, error)
                return
            for pending in group:
                self._commit([pending])
            return
        for pending, result in zip(group, results, strict=True):
            pending.done(result, None)

    def _alone(self, op: Op) -> Any:
        return self._transaction([op])[0]

    def _transaction(self, ops: list[Op]) -> list[Any]:
        """All of them in one transaction. A connection found dead before anything was sent is replaced once."""
        fresh = getattr(self._local, "connection", None) is None
        try:
            return self._try_transaction(ops)
        except psycopg.errors.DeadlockDetected:
            return self._try_transaction(ops)
        except psycopg.OperationalError as error:
            if fresh or not self._forget_dead():
                raise translated(error) from error
        except psycopg.Error as error:
            raise translated(error) from error
        try:
            # Safe to repeat: a create is keyed by its id, a settle recognises itself, a claim leaves a lease.
            return self._try_transaction(ops)
        except psycopg.Error as error:
            raise translated(error) from error

    def _try_transaction(self, ops: list[Op]) -> list[Any]:
        connection = self._connected()
        tx = PostgresTx(connection, self._compiler)
        try:
            tx.now_ms = tx.wall_ms = connection.execute(_NOW, prepare=True).fetchone()[0]  # type: ignore[index]
            results = [op(tx) for op in ops]
            self._points.passing(connection.commit)
        except BaseException:
            if not connection.closed:
                connection.rollback()
            raise
        return results

    def _forget_dead(self) -> bool:
        connection = getattr(self._local, "connection", None)
        if connection is None or not (connection.closed or connection.broken):
            return False
        self._local.connection = None
        with self._guard:
            self._connections.remove(connection)
        return True

    def _connected(self) -> psycopg.Connection[Any]:
        connection: psycopg.Connection[Any] | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = psycopg.connect(self._url, connect_timeout=_CONNECT_S, options=_OPTIONS)
            self._local.connection = connection
            with self._guard:
                self._connections.append(connection)
        return connection


def _resolve(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


def translated(error: psycopg.Error) -> StorageError:
    """PostgreSQL's complaint in our words."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, psycopg.errors.DiskFull):
        return StorageFull("PostgreSQL has no room left", hint="free disk space on the database server")
    if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.InvalidCatalogName):
        return StorageUnusable(f"PostgreSQL: {text}", hint="check APP_DATABASE_URL")
    return StorageUnavailable(
        f"PostgreSQL does not answer as it should: {text}",
        hint="check that the server in APP_DATABASE_URL is up",
    )


set_json_loads(orjson.loads)
