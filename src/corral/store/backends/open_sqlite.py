"""Open a SQLite database: check the file, migrate it, set its clock."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pysqlite3
import sqlalchemy as sa

from corral.domain.errors import StorageUnusable
from corral.runtime import private_files
from corral.runtime.new_ids import new_owner
from corral.store import schema
from corral.store.backends import migration_marks, sqlite_file
from corral.store.backends.clock import Clock
from corral.store.backends.disk_reserve import full
from corral.store.backends.readonly import ReadOnlyFile
from corral.store.backends.sqlite import SqliteDatabase

T = TypeVar("T")

# The longest delay before a retry.
_LONGEST_WAIT_MS = 3600 * 1000


def _path(url: str) -> Path | None:
    """Return the file, or None for a database in memory."""
    text = url.removeprefix("sqlite://").removeprefix("/")
    return Path(text) if text and text != ":memory:" else None


def open_readonly(url: str) -> ReadOnlyFile | None:
    """Return the file read-only and unchanged; None if it has no data."""
    path = _path(url)
    found = _version_of_file(path)
    if path is None or found is None:
        return None
    if not schema.check_version(found, str(path)):
        raise schema.too_old(found, str(path))
    # The data of a migrated file is outdated, so readers must not see it.
    _read_quietly(path, lambda connection: migration_marks.refuse_moved(connection, path))
    return ReadOnlyFile(path)


def _check_parents(path: Path) -> None:
    """Raise if a parent of the path is a file, so the database can never exist there."""
    above = next((parent for parent in path.parents if os.path.isfile(parent)), None)  # noqa: PTH113 - never raises
    if above is not None:
        raise StorageUnusable(
            f"{above} is a file, and the database {path} cannot lie in it", hint="set APP_DATA_DIR to a folder"
        )


def version_of(url: str) -> str | None:
    return _version_of_file(_path(url))


def _version_of_file(path: Path | None) -> str | None:
    if path is None:
        return None
    _check_parents(path)
    try:
        sqlite_file.check_file(path)
        return _file_version(path)
    except OSError as error:
        raise StorageUnusable(
            f"{path} cannot be opened ({error.strerror})", hint="check the owner and mode of the folder"
        ) from error


def open_database(url: str, clock: Clock | None) -> SqliteDatabase:
    """Return the database, migrated to the current schema version."""
    path = _path(url)
    if path is None:
        return _prepare(None, clock)
    _check_parents(path)
    try:
        path.parent.mkdir(mode=private_files.FOLDER, parents=True, exist_ok=True)
        sqlite_file.check_file(path)
        _migrate_file(path)
        return _prepare(path, clock)
    except pysqlite3.Error as error:
        raise sqlite_file.translate_error(error, path) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise full(path) from error
        raise StorageUnusable(
            f"{path} cannot be opened ({error.strerror})", hint="check the owner and mode of the folder"
        ) from error


def _prepare(path: Path | None, clock: Clock | None) -> SqliteDatabase:
    database = SqliteDatabase(path, clock=clock)
    try:
        if path is None:
            schema.upgrade(schema.sqlite_engine(database.connection))
        _anchor(database)
    except BaseException:
        database.close_now()
        raise
    return database


def _migrate_file(path: Path) -> None:
    if schema.check_version(_file_version(path), str(path)):
        return
    lock = sqlite_file.WriteLock(path)
    try:
        with lock.hold():
            # Another process may have migrated the file while this one waited for the lock.
            if schema.check_version(_file_version(path), str(path)):
                return
            # SQLite creates the log and its index with the mode of the file.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, private_files.FILE))
            schema.upgrade_apart(lambda: _upgrade_file(path))
    finally:
        lock.close()


def _upgrade_file(path: Path) -> None:
    try:
        connection = sqlite_file.connect(path)
        try:
            sqlite_file.prepare(connection)
            schema.upgrade(schema.sqlite_engine(connection))
        finally:
            connection.close()
    except (pysqlite3.Error, sa.exc.DBAPIError) as error:
        cause = getattr(error, "orig", None) or error
        raise sqlite_file.translate_error(cause, path) from error


def _file_version(path: Path) -> str | None:
    if not path.exists() or path.stat().st_size == 0:
        return None

    def read_version(connection: sqlite_file.Connection) -> str | None:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if not names:
            return None
        if "alembic_version" not in names:
            raise StorageUnusable(
                f"{path} is a SQLite database of some other program",
                hint="set APP_DATA_DIR or APP_DATABASE_URL to a path that only Corral uses; nothing was changed",
            )
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        if row is None:
            raise schema.version_lost(str(path))
        return str(row[0])

    return _read_quietly(path, read_version)


def _read_quietly(path: Path, read: Callable[[sqlite_file.Connection], T]) -> T:
    try:
        return sqlite_file.read_quietly(path, read)
    except pysqlite3.Error as error:
        raise sqlite_file.translate_error(error, path) from error


def _anchor(database: SqliteDatabase) -> None:
    """Agree on one clock with the other processes of this boot; after a reboot, invalidate every lease."""
    clock = database.clock
    boot = clock.boot_id()

    connection = database.connection
    with database.exclusively():
        stored = dict(connection.execute("SELECT key, value FROM corral_meta").fetchall())
        if "instance_id" not in stored:
            connection.execute("INSERT INTO corral_meta VALUES ('instance_id', ?)", (new_owner(),))
        if stored.get("boot_id") != boot:
            stored["offset_ms"] = str(clock.wall_ms() - clock.since_boot_ms())
            for key, value in (("boot_id", boot), ("offset_ms", stored["offset_ms"])):
                connection.execute("INSERT OR REPLACE INTO corral_meta VALUES (?, ?)", (key, value))
            _start_anew(connection, clock.wall_ms())
    database.anchor(int(stored["offset_ms"]))


def _start_anew(connection: sqlite_file.Connection, now_ms: int) -> None:
    """Reset leases and due times: every lease holder is gone, and the earlier clock may have been ahead."""
    connection.execute("UPDATE runs SET lease_until = 0 WHERE state = 'running' AND kind <> 'workflow'")
    connection.execute(
        "UPDATE runs SET due_at = ? WHERE state = 'queued' AND started_at IS NULL AND due_at > ?", (now_ms, now_ms)
    )
    latest_ms = now_ms + _LONGEST_WAIT_MS
    connection.execute("UPDATE runs SET due_at = ? WHERE state = 'queued' AND due_at > ?", (latest_ms, latest_ms))
