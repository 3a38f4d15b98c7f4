"""A database file of no bytes: left by a first start that was killed, or all that is left of an installation.

SQLite takes it for a new database, and deletes a write-ahead log beside it.
"""

import os
from pathlib import Path

from corral.domain.errors import StorageUnusable
from corral.runtime import file_lock

# Made once a database was opened, never before. The folders of a supervisor (run, log, redis) are older than that.
_BESIDE_ANY = ("-ballast", "-wal")
_IN_DATA_FOLDER = ("vault.key", "artifacts", "cache", "nodes")
_USUAL_NAME = "corral.db"


def refuse_emptied(path: Path) -> None:
    """StorageUnusable where other files show that the empty file was a database before; else a line in the log."""
    signs = _signs(path)
    if not signs:
        # Loaded here: a command that only reads has nothing to log.
        from corral.log import ready_logger  # noqa: PLC0415

        ready_logger().warning(
            "database_empty", path=str(path), note="the file has no bytes; starting with an empty database"
        )
        return
    if _is_being_created(path):
        return
    raise StorageUnusable(
        f"{path} is empty (0 bytes), but this was an installation before: {', '.join(signs)} lies beside it",
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
    """True once another process that holds the write lock has filled the file meanwhile."""
    try:
        lock = os.open(path.with_name(path.name + "-lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        file_lock.wait_until_free(lock)
        return path.stat().st_size > 0
    finally:
        os.close(lock)
