"""A database file of zero bytes: either a first start was killed, or an installation lost its data.

SQLite treats it as a new database and deletes a write-ahead log beside it.
"""

import os
from pathlib import Path

from corral.domain.errors import StorageUnusable
from corral.runtime import file_lock

# These files are created only after a database was opened. A supervisor's folders (run, log, redis) may be older.
_BESIDE_ANY = ("-ballast", "-wal")
_IN_DATA_FOLDER = ("vault.key", "artifacts", "cache", "nodes")
_USUAL_NAME = "corral.db"


def refuse_emptied(path: Path) -> None:
    """Raise StorageUnusable if other files show that the empty file was a database; otherwise log a warning."""
    signs = _signs(path)
    if not signs:
        # Imported here: a read-only command logs nothing.
        from corral.log import ready_logger  # noqa: PLC0415

        ready_logger().warning(
            "database_empty", path=str(path), note="the file has no bytes; starting with an empty database"
        )
        return
    if _is_being_created(path):
        return
    raise StorageUnusable(
        f"{path} is empty (0 bytes), but other files show that it held data before: {', '.join(signs)}",
        hint=f"restore {path} from a backup, or delete the empty file to start without its data; nothing was changed",
    )


def _signs(path: Path) -> list[str]:
    beside = [path.with_name(path.name + ending) for ending in _BESIDE_ANY]
    if path.name == _USUAL_NAME:
        beside += [path.with_name(name) for name in _IN_DATA_FOLDER]
    return [each.name for each in beside if _has_content(each)]


def _has_content(path: Path) -> bool:
    if path.is_dir():
        return any(path.iterdir())
    return path.exists() and path.stat().st_size > 0


def _is_being_created(path: Path) -> bool:
    """Wait for the process that holds the write lock; True if it has filled the file."""
    try:
        lock = os.open(path.with_name(path.name + "-lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        file_lock.wait_until_free(lock)
        return path.stat().st_size > 0
    finally:
        os.close(lock)
