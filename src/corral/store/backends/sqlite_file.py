"""Safe access to a SQLite file: refuse a damaged file before writing, and translate errors."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pysqlite3

from corral.domain.errors import (
    BadInput,
    CorralError,
    StorageError,
    StorageMoved,
    StorageUnavailable,
    StorageUnusable,
)
from corral.runtime import file_lock
from corral.store.backends import disk_reserve, empty_file, migration_marks

_MAGIC = b"SQLite format 3\x00"
_NETWORK_FILE_SYSTEMS = ("nfs", "cifs", "smb", "afs", "ceph", "glusterfs", "fuse.sshfs", "ncpfs")
# A check reads the whole file. Above these sizes it would delay every restart, so only `corral doctor` checks.
_CHECK_ALWAYS_BYTES = 16 * 1024 * 1024
_CHECK_UNCLEAN_BYTES = 128 * 1024 * 1024
LOCK_WAIT_S = 10.0
# Corral's processes hold the lock for milliseconds; if it is held this long, another program holds it.
OTHERS_WAIT_S = 2.0
_NO_ROOM_BYTES = 256 * 1024

Connection = Any  # pysqlite3 carries no types
T = TypeVar("T")


def connect(path: Path | None, *, readonly: bool = False) -> Connection:
    """Return a connection in autocommit mode; the caller begins transactions explicitly."""
    if path is None:
        return pysqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection = _open(path, "?mode=ro" if readonly else "")
    connection.execute("PRAGMA busy_timeout=2000" if readonly else "PRAGMA busy_timeout=0")
    return connection


def _open(path: Path, mode: str) -> Connection:
    quoted = str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return pysqlite3.connect(f"file:{quoted}{mode}", uri=True, isolation_level=None, check_same_thread=False, timeout=0)


def read_quietly(path: Path, read: Callable[[Connection], T]) -> T:
    """Run `read` on the file without creating other files beside it.

    An ordinary reader creates a log and its index. Without a log the file is complete, so it is opened as immutable;
    if it was written in the meantime, the read is repeated in the ordinary way.
    """
    before = _stamp(path)
    if not before[0]:
        try:
            found = _read_and_close(_open(path, "?mode=ro&immutable=1"), read)
        except (pysqlite3.Error, StorageError):
            if _stamp(path) == before:
                raise
        else:
            if _stamp(path) == before:
                return found
    return _read_and_close(connect(path, readonly=True), read)


def _read_and_close(connection: Connection, read: Callable[[Connection], T]) -> T:
    try:
        return read(connection)
    finally:
        connection.close()


def _stamp(path: Path) -> tuple[bool, int, int, int]:
    """Return whether the file has a log, and the values that change with every write."""
    status = path.stat()
    has_log = _was_not_closed(path) or path.with_name(path.name + "-journal").exists()
    return has_log, status.st_ino, status.st_size, status.st_mtime_ns


def prepare(connection: Connection) -> None:
    """Apply the settings of a writing connection. FULL: an acknowledged commit survives a power loss."""
    # Another process may hold the file for a moment: it recovers the log of a killed one, or closes as the last one.
    [(busy_ms,)] = connection.execute("PRAGMA busy_timeout").fetchall()
    connection.execute(f"PRAGMA busy_timeout={int(LOCK_WAIT_S * 1000)}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA busy_timeout={busy_ms}")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA wal_autocheckpoint=4000")
    connection.execute("PRAGMA cache_size=-65536")
    connection.execute("PRAGMA temp_store=MEMORY")


def check_file(path: Path) -> None:
    """Refuse a file that is not an intact SQLite database, without changing it."""
    _refuse_network_file_system(path)
    if not path.exists():
        return
    if path.stat().st_size == 0:
        empty_file.refuse_emptied(path)
        return
    remedy = f"restore {path} from a backup, or move it away to start empty; nothing was changed"
    with path.open("rb") as file:
        header = file.read(100)
    if not header.startswith(_MAGIC):
        raise StorageUnusable(f"{path} is not a SQLite database", hint=remedy)
    is_checked = path.stat().st_size <= (_CHECK_UNCLEAN_BYTES if _was_not_closed(path) else _CHECK_ALWAYS_BYTES)

    def check(connection: Connection) -> None:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0] if is_checked else "ok"
        if answer != "ok":
            raise StorageUnusable(f"{path} is damaged: {answer}", hint=remedy)

    try:
        read_quietly(path, check)
    except pysqlite3.DatabaseError as error:
        raise translate_error(error, path, remedy) from error


def _was_not_closed(path: Path) -> bool:
    """Return whether the file was not closed cleanly: a clean close removes the write-ahead log."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _refuse_network_file_system(path: Path) -> None:
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return
    folder = str(path.absolute().parent)
    best, kind = "", ""
    for line in mounts.read_text().splitlines():
        _, point, type_, *_ = line.split(" ")
        if (folder == point or folder.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, type_
    if kind.startswith(_NETWORK_FILE_SYSTEMS):
        raise StorageUnusable(
            f"{path} lies on a network file system ({kind}), where SQLite's locks do not hold",
            hint="set APP_DATA_DIR to a local disk, or APP_DATABASE_URL to a PostgreSQL server",
        )


def translate_error(error: Exception, path: Path | None, hint: str | None = None) -> CorralError:
    """Translate a SQLite error by its error code."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    where = str(path) if path is not None else "the database in memory"
    if isinstance(error, OverflowError | pysqlite3.DataError):
        return BadInput(f"SQLite cannot take this value: {text}")
    if text.startswith(migration_marks.MOVED_PREFIX):
        return StorageMoved(where, text)
    if isinstance(error, pysqlite3.IntegrityError):
        return StorageError(f"{where} refused a row: {text}", hint="please report this")
    if name.startswith("SQLITE_FULL") or (name.startswith("SQLITE_IOERR") and _is_full(path)):
        return disk_reserve.full(path)
    if is_busy(error):
        return StorageUnavailable(
            f"{where} is locked by another program", hint="close whatever else has it open for writing"
        )
    is_incomplete = text.startswith(("no such table", "no such column"))
    if is_incomplete or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ")):
        return StorageUnusable(
            f"{where} is damaged ({text})", hint=hint or f"restore {where} from a backup; nothing was changed"
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StorageUnusable(
            f"{where} cannot be opened ({text})",
            hint="check the owner and mode of the folder, the file, and what lies beside it (-wal, -shm, -lock)",
        )
    return StorageUnavailable(f"{where}: {text}")


def is_busy(error: Exception) -> bool:
    name = getattr(error, "sqlite_errorname", "") or ""
    return name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _is_full(path: Path | None) -> bool:
    """Return whether the disk is full, which SQLite sometimes reports as a plain I/O error."""
    return path is not None and shutil.disk_usage(path.parent).free < _NO_ROOM_BYTES


class StillLocked(StorageUnavailable):
    """The wait for a lock reached its time limit."""


class WriteLock:
    """A lock for one writer across all processes. It polls in short steps; SQLite itself would sleep longer."""

    def __init__(self, path: Path | None) -> None:
        self._file = None
        if path is not None:
            self._file = os.open(path.with_name(path.name + "-lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_take(self) -> bool:
        return self._file is None or file_lock.try_lock(self._file)

    def take(self) -> None:
        wait_until(
            self.try_take,
            "another Corral process has held the write lock for too long",
            wait_s=LOCK_WAIT_S,
            hint="look for a stopped or hanging `corral` process, or for another program it waits for itself",
        )

    def release(self) -> None:
        if self._file is not None:
            file_lock.unlock(self._file)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @contextmanager
    def hold(self) -> Iterator[None]:
        self.take()
        try:
            yield
        finally:
            self.release()


def wait_until(
    ready: Callable[[], bool],
    message: str,
    *,
    wait_s: float | None = None,
    hint: str = "close whatever else has it open for writing",
) -> None:
    deadline = time.monotonic() + (OTHERS_WAIT_S if wait_s is None else wait_s)
    while not ready():
        if time.monotonic() > deadline:
            raise StillLocked(message, hint=hint)
        time.sleep(0.001)
