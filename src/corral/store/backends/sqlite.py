"""The SQLite backend: one writing connection per process, with group commit.

Statements run on the event loop's own thread: they take microseconds, and a thread that competes for the
interpreter lock after every statement is many times slower. Only operations that can block (the fsync of COMMIT,
the lock of another process) go to a thread.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pysqlite3
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.sql import ClauseElement

from corral.domain.errors import StorageError, StorageFull, StorageUnavailable
from corral.store.backends import migration_marks, sqlite_file
from corral.store.backends.clock import Clock, SystemClock
from corral.store.backends.disk_reserve import DiskReserve, full
from corral.store.backends.sqlite_file import StillLocked
from corral.store.damage import Damage
from corral.store.failpoints import CommitPoints
from corral.store.tx import Compiler, FeedGaps, Row, Tx

_MAX_GROUP = 128

T = TypeVar("T")


class SqliteTx:
    is_postgres = False
    gaps: FeedGaps | None = None

    def __init__(self, connection: Any, compiler: Compiler, *, is_repeat: bool = False) -> None:
        self._connection = connection
        self._compiler = compiler
        self.is_repeat = is_repeat
        self.now_ms = 0
        self.wall_ms = 0

    def all(self, statement: ClauseElement, params: dict[str, Any] | None = None) -> list[Row]:
        sql, bind = self._compiler.sql(statement)
        rows: list[Row] = self._connection.execute(sql, bind(params or {})).fetchall()
        return rows

    def run(self, statement: ClauseElement, params: dict[str, Any] | None = None) -> int:
        sql, bind = self._compiler.sql(statement)
        return int(self._connection.execute(sql, bind(params or {})).rowcount)

    def many(self, statement: ClauseElement, params: Sequence[dict[str, Any]]) -> int:
        sql, bind = self._compiler.sql(statement)
        return int(self._connection.executemany(sql, map(bind, params)).rowcount)

    def every(self, statement: ClauseElement, params: Sequence[dict[str, Any]]) -> bool:
        self._connection.execute("SAVEPOINT every")
        is_complete = self.many(statement, params) == len(params)
        if not is_complete:
            self._connection.execute("ROLLBACK TO every")
        self._connection.execute("RELEASE every")
        return is_complete

    def many_returning(self, statement: ClauseElement, params: Sequence[dict[str, Any]]) -> list[Row | None]:
        sql, bind = self._compiler.sql(statement)
        execute = self._connection.execute
        found = []
        for each in params:
            rows = execute(sql, bind(each)).fetchall()
            found.append(rows[0] if rows else None)
        return found


class _Pending:
    __slots__ = ("essential", "future", "op")

    def __init__(self, op: Callable[[Tx], T], future: asyncio.Future[T], essential: bool) -> None:
        # A group holds operations of different types; `write` returns each result to its caller, which knows the type.
        self.op: Callable[[Tx], Any] = op
        self.future: asyncio.Future[Any] = future
        self.essential = essential


_Result = tuple[_Pending, Any, BaseException | None]


class SqliteDatabase:
    is_postgres = False

    def __init__(self, path: Path | None, *, clock: Clock | None = None, points: CommitPoints | None = None) -> None:
        self._path = path
        self.damage = Damage(path)
        self._clock = clock or SystemClock()
        self._points = points or CommitPoints()
        self._compiler = Compiler(sqlite_dialect(paramstyle="qmark"))
        self._connection = sqlite_file.connect(path)
        sqlite_file.prepare(self._connection)
        # A database in memory has only one connection; readers of a file do not wait for writers.
        self._reader = self._connection if path is None else sqlite_file.connect(path, readonly=True)
        self._process_lock = sqlite_file.WriteLock(path)
        # Held from BEGIN to COMMIT. The committing thread releases it, so that a stalled event loop
        # cannot block the lease renewals of the renewer thread.
        self._lock = threading.Lock()
        self._waiting: deque[_Pending] = deque()
        # The loop that will flush the queue; None while no flush is scheduled.
        self._flushing_on: asyncio.AbstractEventLoop | None = None
        self._emptied: asyncio.Event | None = None
        self._closed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-commit")
        self._read_thread = ThreadPoolExecutor(2, thread_name_prefix="sqlite-read")
        self._offset_ms = 0
        self._reserve = DiskReserve(path) if path is not None else None
        if self._reserve is not None:
            self._reserve.restore()

    def anchor(self, offset_ms: int) -> None:
        """Set the offset from the time since boot to the wall clock."""
        self._offset_ms = offset_ms

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def connection(self) -> Any:
        """Return the connection, to set up the database before its first use."""
        return self._connection

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        """Run one exclusive transaction, to set up the database."""
        with self._lock, self._process_lock.hold():
            self._begin_patiently()
            try:
                migration_marks.refuse_moved(self._connection, self._path)
                yield
                self._connection.execute("COMMIT")
            finally:
                self._roll_back()

    async def write(self, op: Callable[[Tx], T], *, essential: bool = False) -> T:
        """Run in a transaction that other waiting writes share. Essential writes may use the disk reserve."""
        self._check_open()
        if not essential and self._reserve is not None and self._reserve.is_spent:
            raise full(self._path)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.append(_Pending(op, future, essential))
        # The queue belongs to a loop that was closed in the meantime and will never flush it.
        if self._flushing_on is None or self._flushing_on.is_closed():
            self._flushing_on = loop
            loop.call_soon(self._flush, loop)
        return await future

    def write_from_thread(self, op: Callable[[Tx], T]) -> T:
        """Write from a thread that must not depend on the event loop."""
        self._check_open()
        with self._all_locks():
            return self._run_with_reserve(op, essential=True)

    def _check_open(self) -> None:
        if self._closed:
            raise StorageUnavailable("the store has been closed")

    async def read(self, op: Callable[[Tx], T]) -> T:
        """Run a short read on the event loop's thread."""
        if self._path is None:
            return await self.write(op)
        self._check_open()
        return self._read_on(self._reader, op)

    async def read_slow(self, op: Callable[[Tx], T]) -> T:
        """Run a long read in a thread, on its own connection."""
        if self._path is None:
            return await self.write(op)
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._read_thread, self._read_apart, op)

    def _read_apart(self, op: Callable[[Tx], T]) -> T:
        connection = sqlite_file.connect(self._path, readonly=True)
        try:
            return self._read_on(connection, op)
        finally:
            connection.close()

    def _read_on(self, connection: Any, op: Callable[[Tx], T]) -> T:
        try:
            connection.execute("BEGIN")
            try:
                migration_marks.refuse_moved(connection, self._path)
                return op(self._tx(connection))
            finally:
                if connection.in_transaction:
                    connection.execute("COMMIT")
        except (pysqlite3.Error, OverflowError) as error:
            raise self.damage.notice(sqlite_file.translate_error(error, self._path)) from error

    async def close(self) -> None:
        """Finish queued operations, then close."""
        self._closed = True
        if self._flushing_on is asyncio.get_running_loop():
            self._emptied = asyncio.Event()
            await self._emptied.wait()
        self.close_now()

    def close_now(self) -> None:
        self._closed = True
        self._thread.shutdown(wait=True)
        self._read_thread.shutdown(wait=True)
        if self._reader is not self._connection:
            self._reader.close()
        with self._lock:
            self._connection.close()
        self._process_lock.close()

    # -- one group ---------------------------------------------------------------------------------

    def _tx(self, connection: Any, *, is_repeat: bool = False) -> SqliteTx:
        tx = SqliteTx(connection, self._compiler, is_repeat=is_repeat)
        tx.now_ms = self._clock.since_boot_ms() + self._offset_ms
        tx.wall_ms = self._clock.wall_ms()
        return tx

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        group = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MAX_GROUP))]
        if self._lock.acquire(blocking=False):
            if self._process_lock.try_take():
                loop.run_in_executor(self._thread, self._finish, group, self._run_group(group), loop)
                return
            self._lock.release()
        loop.run_in_executor(self._thread, self._wait_and_finish, group, loop)

    def _run_group(self, group: list[_Pending]) -> list[_Result] | None:
        """Begin a transaction and run the group in it; None, after a rollback, if an operation failed."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            migration_marks.refuse_moved(self._connection, self._path)
            tx = self._tx(self._connection)
            return [(pending, pending.op(tx), None) for pending in group]
        except Exception:  # noqa: BLE001 - run alone, the operation fails again, for its own caller
            self._roll_back()
            return None

    def _finish(self, group: list[_Pending], results: list[_Result] | None, loop: asyncio.AbstractEventLoop) -> None:
        """Commit the group under both locks, and release them."""
        try:
            if results is None or not self._try_commit():
                results = self._run_each(group)
        finally:
            self._process_lock.release()
            self._lock.release()
        self._hand_over(loop, results)

    @contextmanager
    def _all_locks(self) -> Iterator[None]:
        """Take both locks within a time limit: their holder may itself be waiting for another program."""
        if not self._lock.acquire(timeout=sqlite_file.LOCK_WAIT_S):
            raise StorageUnavailable(f"{self._path} is locked by another program", hint="close whatever has it open")
        try:
            with self._process_lock.hold():
                yield
        finally:
            self._lock.release()

    def _wait_and_finish(self, group: list[_Pending], loop: asyncio.AbstractEventLoop) -> None:
        try:
            with self._all_locks():
                results = self._run_group(group)
                if results is None or not self._try_commit():
                    results = self._run_each(group)
        except StorageError as error:
            results = [(pending, None, error) for pending in group]
        self._hand_over(loop, results)

    def _try_commit(self) -> bool:
        try:
            self._points.perform(self._execute_commit)
        except pysqlite3.Error:
            self._roll_back()
            return False
        return True

    def _run_each(self, group: list[_Pending]) -> list[_Result]:
        """Run each operation in its own transaction, so that one failure does not affect the others."""
        results: list[_Result] = []
        locked: StillLocked | None = None
        for pending in group:
            try:
                if locked is not None:  # waiting separately for each operation would add up
                    raise locked
                results.append((pending, self._run_with_reserve(pending.op, pending.essential), None))
            except BaseException as error:  # noqa: BLE001 - passed to the caller of the operation
                locked = error if isinstance(error, StillLocked) else None
                results.append((pending, None, error))
        return results

    def _run_with_reserve(self, op: Callable[[Tx], T], essential: bool) -> T:
        try:
            return self._run_alone(op)
        except StorageFull:
            if not essential or self._reserve is None or not self._reserve.release():
                raise
            return self._run_alone(op)

    def _run_alone(self, op: Callable[[Tx], T]) -> T:
        try:
            try:
                return self._transaction(op)
            except pysqlite3.IntegrityError:
                return self._transaction(op, is_repeat=True)
        except (pysqlite3.Error, OverflowError) as error:
            raise self.damage.notice(sqlite_file.translate_error(error, self._path)) from error

    def _transaction(self, op: Callable[[Tx], T], *, is_repeat: bool = False) -> T:
        self._begin_patiently()
        try:
            migration_marks.refuse_moved(self._connection, self._path)
            result = op(self._tx(self._connection, is_repeat=is_repeat))
            self._points.perform(self._execute_commit)
        finally:
            self._roll_back()
        return result

    def _begin_patiently(self) -> None:
        def try_begin() -> bool:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except pysqlite3.OperationalError as error:
                if sqlite_file.is_busy(error):
                    return False
                raise
            return True

        sqlite_file.wait_until(try_begin, f"{self._path} is locked by another program")

    def _execute_commit(self) -> None:
        self._connection.execute("COMMIT")

    def _roll_back(self) -> None:
        """Roll back the transaction if it is still open; SQLite itself ends it after severe errors."""
        if self._connection.in_transaction:
            with suppress(pysqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _hand_over(self, loop: asyncio.AbstractEventLoop, results: list[_Result]) -> None:
        # A loop that was closed in the meantime has no waiting callers.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._deliver, loop, results)

    def _deliver(self, loop: asyncio.AbstractEventLoop, results: list[_Result]) -> None:
        for pending, result, error in results:
            if pending.future.done():
                continue
            if error is not None:
                pending.future.set_exception(error)
            else:
                pending.future.set_result(result)
        if self._waiting:
            loop.call_soon(self._flush, loop)
            return
        self._flushing_on = None
        if self._emptied is not None:
            self._emptied.set()

    def restore_reserve(self) -> None:
        """Reserve disk space again if there is enough."""
        if self._reserve is not None:
            self._reserve.restore()
