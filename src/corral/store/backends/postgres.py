"""The PostgreSQL backend: a few connections, each with a thread that commits queued operations as a group."""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import orjson
import psycopg
from psycopg.types.json import set_json_loads
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.sql import ClauseElement

from corral.domain.errors import StorageUnavailable
from corral.store.backends.postgres_errors import ServerGone, translate_error
from corral.store.backends.postgres_probe import ServerProbe
from corral.store.damage import Damage
from corral.store.failpoints import CommitPoints
from corral.store.tx import Compiler, FeedGaps, Row, Tx

_MAX_GROUP = 64
_WRITERS = 2
_READERS = 4
_TRIES = 3
# How long a caller waits for an answer. Longer than the statement timeout, so only a hanging server exceeds it.
_ANSWER_S = 15.0
# After this time the caller checks whether the server answers at all; less than two seconds, with the check.
_SLOW_S = 1.0
_POLL_S = 0.02
_SETTINGS = {"lock_timeout": 2000, "statement_timeout": 10000, "idle_in_transaction_session_timeout": 10000}
_CONNECT: dict[str, Any] = {
    "connect_timeout": 2,
    "options": " ".join([*(f"-c {name}={value}" for name, value in _SETTINGS.items()), "-c timezone=UTC"]),
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
}
# One round trip opens the transaction and reads the shared clock. A writing transaction also requests its number:
# it identifies a commit whose answer was lost, and the feed relies on the number being assigned before any position.
_READ = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, NULL"
_WRITE = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, pg_current_xact_id()::text"
_OUTCOME = "SELECT pg_xact_status(%s::xid8)"

T = TypeVar("T")
Connection = psycopg.Connection[Any]


class PostgresTx:
    is_postgres = True

    def __init__(self, connection: Connection, compiler: Compiler, gaps: FeedGaps, *, is_repeat: bool = False) -> None:
        self._connection = connection
        self._compiler = compiler
        self.gaps: FeedGaps | None = gaps
        self.is_repeat = is_repeat
        self.now_ms = self.wall_ms = 0

    def all(self, statement: ClauseElement, params: dict[str, Any] | None = None) -> list[Row]:
        sql, bind = self._compiler.sql(statement)
        return self._connection.execute(sql, bind(params or {}), prepare=True).fetchall()

    def run(self, statement: ClauseElement, params: dict[str, Any] | None = None) -> int:
        sql, bind = self._compiler.sql(statement)
        return self._connection.execute(sql, bind(params or {}), prepare=True).rowcount

    def many(self, statement: ClauseElement, params: Sequence[dict[str, Any]]) -> int:
        if len(params) <= 1:
            return sum(self.run(statement, each) for each in params)
        sql, bind = self._compiler.sql(statement)
        with self._connection.cursor() as cursor:
            cursor.executemany(sql, [bind(each) for each in params])
            return cursor.rowcount

    def every(self, statement: ClauseElement, params: Sequence[dict[str, Any]]) -> bool:  # noqa: ARG002
        """Return False: two savepoints would cost more than reading the results, which takes one round trip."""
        return False

    def many_returning(self, statement: ClauseElement, params: Sequence[dict[str, Any]]) -> list[Row | None]:
        if not params:
            return []
        if len(params) == 1:
            rows = self.all(statement, params[0])
            return [rows[0] if rows else None]
        sql, bind = self._compiler.sql(statement)
        found: list[Row | None] = []
        with self._connection.cursor() as cursor:
            cursor.executemany(sql, [bind(each) for each in params], returning=True)
            while True:
                found.append(cursor.fetchone())
                if not cursor.nextset():
                    return found


class _Unanswered(Exception):
    """The connection broke during the commit, which may or may not have succeeded."""

    def __init__(self, number: str, results: list[Any], cause: psycopg.OperationalError) -> None:
        super().__init__(number)
        self.number = number
        self.results = results
        self.cause = cause


class _Abandoned(Exception):
    """Every caller of this transaction gave up and assumes that it was not committed."""


class _Pending:
    __slots__ = ("done", "is_wanted", "op", "requested_at")

    def __init__(
        self, op: Callable[[Tx], Any], done: Callable[[Any, BaseException | None], None], is_wanted: Callable[[], bool]
    ) -> None:
        # A group holds operations of different types; `write` returns each result to its caller, which knows the type.
        self.op = op
        self.done = done
        self.is_wanted = is_wanted
        self.requested_at = time.monotonic()


class PostgresDatabase:
    is_postgres = True

    def __init__(self, url: str, *, points: CommitPoints | None = None) -> None:
        self._url = url
        self.damage = Damage()
        self._points = points or CommitPoints()
        self._compiler = Compiler(PGDialect_psycopg(paramstyle="format"))  # type: ignore[no-untyped-call]
        self._waiting: queue.SimpleQueue[_Pending | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="pg-read")
        self._gaps = FeedGaps()
        self._probe = ServerProbe(url)
        self._local = threading.local()
        self._connections: set[Connection] = set()
        self._guard = threading.Lock()
        self._closed = False
        # Start time and error of the last failed connection attempt: operations that waited then share the error.
        self._refusal: tuple[float, psycopg.OperationalError] | None = None
        self._writers = [
            threading.Thread(target=self._write_loop, name=f"pg-write-{number}", daemon=True)
            for number in range(_WRITERS)
        ]
        for thread in self._writers:
            thread.start()

    async def write(self, op: Callable[[Tx], T], *, essential: bool = False) -> T:
        """Write in a group. An essential write waits for a hanging server, because a repeat could be applied twice."""
        self._check_open()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def done(result: T, error: BaseException | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, future, result, error)

        self._waiting.put(_Pending(op, done, lambda: not future.cancelled()))
        return await self._wait_for(future, is_patient=essential)

    def write_from_thread(self, op: Callable[[Tx], T]) -> T:
        self._check_open()
        return self._run_alone(op, time.monotonic(), writes=True)

    async def read(self, op: Callable[[Tx], T]) -> T:
        self._check_open()
        loop = asyncio.get_running_loop()
        requested_at = time.monotonic()
        reading = loop.run_in_executor(self._readers, lambda: self._run_alone(op, requested_at, writes=False))
        return await self._wait_for(reading)

    read_slow = read

    async def _wait_for(self, future: asyncio.Future[T], *, is_patient: bool = False) -> T:
        """Wait for the result; raise StorageUnavailable, with nothing written, if the server does not answer."""
        deadline = time.monotonic() + _ANSWER_S
        try:
            while True:
                done, _ = await asyncio.wait({future}, timeout=_ANSWER_S if is_patient else _SLOW_S)
                if done:
                    return future.result()
                is_late = is_patient or time.monotonic() >= deadline
                if (is_late or not await self._probe.answers()) and not future.done():
                    raise StorageUnavailable("PostgreSQL does not answer", hint="check that the server is not stopped")
        finally:
            future.cancel()

    def _check_open(self) -> None:
        if self._closed:
            raise StorageUnavailable("the store has been closed")

    async def close(self) -> None:
        await asyncio.to_thread(self.close_now)

    def close_now(self) -> None:
        """Finish queued operations; abandon a thread that a hanging server blocks."""
        if self._closed:
            return
        self._closed = True
        self._probe.close()
        for _ in self._writers:
            self._waiting.put(None)
        for thread in self._writers:
            thread.join(timeout=_ANSWER_S)
        self._readers.shutdown(wait=True, cancel_futures=True)
        with self._guard:
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    def restore_reserve(self) -> None:
        """Do nothing: Corral does not manage the server's disk."""

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
        group = [pending for pending in group if pending.is_wanted()]
        if not group:
            return
        is_wanted = [pending.is_wanted for pending in group]
        try:
            ops, requested_at = [pending.op for pending in group], group[0].requested_at
            results = self._transaction(
                ops, requested_at, writes=True, is_wanted=lambda: any(each() for each in is_wanted)
            )
        except _Abandoned:
            return
        except ServerGone as error:
            # Fail the whole group: a retry for each operation would multiply the wait of the last one.
            for pending in group:
                pending.done(None, error)
            return
        except BaseException as error:  # noqa: BLE001 - passed to the caller of the operation
            if len(group) == 1:
                group[0].done(None, error)
                return
            for pending in group:
                self._commit([pending])
            return
        for pending, result in zip(group, results, strict=True):
            pending.done(result, None)

    def _run_alone(self, op: Callable[[Tx], T], requested_at: float, *, writes: bool) -> T:
        return self._transaction([op], requested_at, writes=writes)[0]

    def _transaction(
        self,
        ops: list[Callable[[Tx], T]],
        requested_at: float,
        *,
        writes: bool,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> list[T]:
        """Run the operations in one transaction, and retry errors that may be temporary."""
        is_repeat = False
        error: psycopg.Error
        for _ in range(_TRIES):
            try:
                connection = self._connect(requested_at)
                return self._try(connection, ops, writes=writes, is_repeat=is_repeat, is_wanted=is_wanted)
            except _Unanswered as lost:
                if self._was_committed(lost.number, requested_at):
                    return lost.results
                error = lost.cause
            except psycopg.errors.UniqueViolation as found:
                error, is_repeat = found, True
                if len(ops) > 1:
                    break
            except psycopg.errors.DeadlockDetected as found:
                error = found
            except psycopg.OperationalError as found:
                error = found
                if not self._forget_dead():
                    break
            except (psycopg.Error, OverflowError) as found:
                raise self.damage.notice(translate_error(found)) from found
        raise self.damage.notice(translate_error(error)) from error

    def _try(
        self,
        connection: Connection,
        ops: list[Callable[[Tx], T]],
        *,
        writes: bool,
        is_repeat: bool,
        is_wanted: Callable[[], bool],
    ) -> list[T]:
        tx = PostgresTx(connection, self._compiler, self._gaps, is_repeat=is_repeat)
        try:
            [(tx.now_ms, number)] = connection.execute(_WRITE if writes else _READ, prepare=True).fetchall()
            tx.wall_ms = tx.now_ms
            results = [op(tx) for op in ops]
            if not is_wanted():
                raise _Abandoned
        except BaseException:
            if not connection.closed:
                connection.rollback()
            raise
        try:
            self._points.perform(connection.commit)
        except psycopg.OperationalError as error:
            if writes and self._forget_dead():
                raise _Unanswered(number, results, error) from error
            raise
        return results

    def _was_committed(self, number: str, requested_at: float) -> bool:
        """Ask the server whether it committed a transaction; the transaction may still be in progress."""
        deadline = time.monotonic() + 2.0
        while True:
            connection = self._connect(requested_at)
            try:
                [(status,)] = connection.execute(_OUTCOME, (number,)).fetchall()
                connection.rollback()
            except psycopg.errors.InvalidParameterValue:  # the server was restored to a state before this transaction
                connection.rollback()
                return False
            except psycopg.Error as error:
                self._forget_dead()
                raise ServerGone(translate_error(error)) from error
            if status != "in progress":
                return bool(status == "committed")
            if time.monotonic() > deadline:
                raise StorageUnavailable("PostgreSQL does not report whether it committed a transaction")
            time.sleep(_POLL_S)

    def _forget_dead(self) -> bool:
        """Discard this thread's connection if it was lost, so that the next try opens another.

        Return False if it is still open.
        """
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None or not connection.closed:
            return False
        self._local.connection = None
        with self._guard:
            self._connections.discard(connection)
        connection.close()
        return True

    def _connect(self, requested_at: float) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is not None and not connection.closed:
            return connection
        refusal = self._refusal
        if refusal is not None and requested_at <= refusal[0]:
            raise ServerGone(translate_error(refusal[1])) from refusal[1]
        began = time.monotonic()
        try:
            connection = psycopg.connect(self._url, **_CONNECT)
        except psycopg.OperationalError as error:
            self._refusal = (began, error)
            raise ServerGone(translate_error(error)) from error
        self._local.connection = connection
        with self._guard:
            self._connections.add(connection)
        return connection


def _resolve(future: asyncio.Future[T], result: T, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


set_json_loads(orjson.loads)
