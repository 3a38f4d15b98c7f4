"""Migrate an installation from its SQLite file to PostgreSQL. If killed, exactly one of the two is authoritative.

1. The file is marked MOVING. It stays authoritative.
2. Under the write lock of the file, one transaction of the target copies everything and marks the target ARRIVING:
   it cannot be opened yet.
3. The file is marked MOVED, and refuses every write from then on.
4. The target is marked ARRIVED.

If it is killed before step 3, the file stays in use, and the next migration replaces the contents of the target. If it
is killed between 3 and 4, the next migration only does step 4.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
import pysqlite3

from corral.domain.errors import CorralError, StorageUnusable
from corral.runtime.new_ids import new_id
from corral.store import schema
from corral.store.backends import migration_marks, sqlite_file
from corral.store.backends.clock import Clock, SystemClock
from corral.store.backends.migration_marks import Mark, MoveState
from corral.store.backends.open_postgres import WHERE, connect, migrate, version_in
from corral.store.failpoints import CommitPoints
from corral.store.open import bring_up, version_of
from corral.store.tables import metadata
from corral.store.to_postgres import rows as move_rows
from corral.store.to_postgres import target as move_target
from corral.store.to_postgres.target import Target

# A target in use is reported instead of waited for; its commits must be durable.
_SESSION_SETTINGS = ("SET lock_timeout = '5s'", "SET synchronous_commit = on")
_NOT_MOVED = "nothing was moved, the old database goes on as before; please report this"
_START_THERE = "set APP_DATABASE_URL to the PostgreSQL database, and Corral starts there"

# The step, the table, the number of rows done, and their total.
Progress = Callable[[str, str, int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    address: str
    rows: dict[str, int]
    under_way: int
    faults: list[str]


@dataclass(frozen=True, slots=True)
class Moved:
    address: str
    rows: dict[str, int]
    requeued: int
    was_done_before: bool = False


def plan(path: Path, url: str) -> Plan:
    """Return what a migration would do, and what prevents it. Changes nothing."""
    address = move_target.address_of(url)

    def read_counts(source: Any) -> tuple[str, dict[str, int], int]:
        rows = {table.name: move_rows.count(source, table) for table in move_rows.tables_to_copy()}
        [(under_way,)] = source.execute("SELECT count(*) FROM runs WHERE state = 'running'").fetchall()
        return _instance(source), rows, under_way

    version = _check_file(path)
    if not schema.check_version(version, str(path)):
        raise schema.too_old(version, str(path))
    _read_quietly(path, lambda source: migration_marks.refuse_moved(source, path))
    instance, rows, under_way = _read_quietly(path, read_counts)
    return Plan(address, rows, under_way, move_target.faults(url, instance))


def move(path: Path, url: str, report_progress: Progress, *, clock: Clock | None = None) -> Moved:
    address = move_target.address_of(url)
    _check_file(path)
    done = _read_quietly(path, migration_marks.of_file)
    if done is None or done.state is not MoveState.MOVED:
        # Like a start: migrate to the current schema version, with the clock of this boot.
        bring_up(path, clock)
    points = CommitPoints()
    with connect(url, "the target address") as target:
        _prepare(target, url)
        if done is not None and done.state is MoveState.MOVED:
            return _finish(target, done, address, path, points)
        with _lock(path) as source:
            return _Move(source, target, report_progress, clock or SystemClock(), points).perform(address)


def _prepare(target: Target, url: str) -> None:
    version = version_in(target)
    if not schema.check_version(version, WHERE):
        migrate(target, url)
    for setting in _SESSION_SETTINGS:
        target.execute(setting)
    target.commit()


def _finish(target: Target, done: Mark, address: str, path: Path, points: CommitPoints) -> Moved:
    """Finish a migration that was killed after it closed the file: mark the target as ARRIVED."""
    found = move_target.read_mark(target)
    if found is None or found.id != done.id:
        raise StorageUnusable(
            f"{path} was {done.sentence}", hint=f"it cannot be moved a second time; its data is at {done.to}"
        )
    if found.state is MoveState.ARRIVING:
        move_target.write_mark(target, replace(found, state=MoveState.ARRIVED))
        points.perform(target.commit)
    return Moved(address, {}, 0, was_done_before=True)


@dataclass(frozen=True, slots=True)
class _Move:
    source: Any
    target: Target
    report_progress: Progress
    clock: Clock
    points: CommitPoints

    def perform(self, address: str) -> Moved:
        source, target = self.source, self.target
        mark = Mark(new_id(), MoveState.MOVING, _instance(source), address, migration_marks.now_text())
        migration_marks.write(source, mark)
        self._commit_source()
        source.execute("BEGIN IMMEDIATE")
        move_target.lock(target)
        if faults := move_target.find_conflicts(target, mark.instance):
            raise StorageUnusable(faults[0].partition("; ")[0], hint=faults[0].partition("; ")[2])
        move_target.empty(target)
        rows = self._copy()
        requeued = move_target.requeue_runs(target)
        move_target.write_mark(target, replace(mark, state=MoveState.ARRIVING))
        self.report_progress("finishing", "", 0, 0)
        self.points.perform(target.commit)
        tables = [*metadata.tables, "alembic_version"]
        migration_marks.close_file(source, replace(mark, state=MoveState.MOVED), tables)
        self._commit_source()
        move_target.write_mark(target, replace(mark, state=MoveState.ARRIVED))
        self.points.perform(target.commit)
        return Moved(address, rows, requeued)

    def _commit_source(self) -> None:
        self.points.perform(lambda: self.source.execute("COMMIT"))

    def _copy(self) -> dict[str, int]:
        shift_ms = move_target.now_ms(self.target) - self._now_ms()
        rows = {}
        for table in move_rows.tables_to_copy():
            total = move_rows.count(self.source, table)

            def report(step: str, done: int, name: str = table.name, total: int = total) -> None:
                self.report_progress(step, name, done, total)

            try:
                sent = move_rows.copy(self.source, self.target, table, shift_ms, lambda done: report("copying", done))
            except psycopg.DataError as error:
                what = str(error).strip().splitlines()[0]
                raise CorralError(f"PostgreSQL cannot take a row of {table.name}: {what}", hint=_NOT_MOVED) from error
            arrived = move_rows.sum_of(self.target, table, lambda done: report("checking", done))
            if arrived != sent:
                raise CorralError(
                    f"{table.name} did not arrive as it was sent: {sent.rows} rows with checksum {sent.checksum:x}, "
                    f"{arrived.rows} with {arrived.checksum:x}",
                    hint=_NOT_MOVED,
                )
            move_rows.continue_numbers(self.source, self.target, table)
            rows[table.name] = sent.rows
        return rows

    def _now_ms(self) -> int:
        """Return the clock of the file, as `SqliteDatabase` computes it."""
        [(offset_ms,)] = self.source.execute("SELECT value FROM corral_meta WHERE key = 'offset_ms'").fetchall()
        return self.clock.since_boot_ms() + int(offset_ms)


@contextmanager
def _lock(path: Path) -> Iterator[Any]:
    """Yield the file in an open transaction with the write lock; uncommitted changes are rolled back at the end."""
    process_lock = sqlite_file.WriteLock(path)
    source = sqlite_file.connect(path)
    try:
        sqlite_file.prepare(source)
        source.execute("PRAGMA cache_size=-4096")  # rows are read only once, so no cache is needed
        with process_lock.hold():
            sqlite_file.wait_until(lambda: _try_begin(source), f"{path} is locked by another program")
            migration_marks.refuse_moved(source, path)
            yield source
    except pysqlite3.Error as error:
        raise sqlite_file.translate_error(error, path) from error
    finally:
        source.close()
        process_lock.close()


def _try_begin(source: Any) -> bool:
    try:
        source.execute("BEGIN IMMEDIATE")
    except pysqlite3.OperationalError as error:
        if sqlite_file.is_busy(error):
            return False
        raise
    return True


def _instance(source: Any) -> str:
    row = source.execute("SELECT value FROM corral_meta WHERE key = 'instance_id'").fetchone()
    return str(row[0]) if row else ""


def _check_file(path: Path) -> str:
    """Return the schema version of an intact file of Corral."""
    version = version_of(f"sqlite:///{path}")
    if version is None:
        raise StorageUnusable(f"{path} does not exist: there is nothing to migrate", hint=_START_THERE)
    return version


def _read_quietly(path: Path, read: Callable[[Any], Any]) -> Any:
    try:
        return sqlite_file.read_quietly(path, read)
    except pysqlite3.Error as error:
        raise sqlite_file.translate_error(error, path) from error
