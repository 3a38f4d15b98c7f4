"""Damage to a database that was intact when it was opened: pages overwritten, tables dropped."""

import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from corral.domain.errors import CorralError, StorageMoved, StorageUnusable
from corral.store.tables import metadata
from corral.store.tx import Tx

_CHECK_EVERY_S = 5.0
# A check reads the whole file. Above this size, damage is assumed to last until the next start.
_CHECKED_BYTES = 128 * 1024 * 1024
_TABLES = [sa.select(table).limit(0) for table in metadata.sorted_tables]
_QUICK_CHECK = sa.text("PRAGMA quick_check(1)")


class Damage:
    """Remembers damage that any operation found, so that `/health` reports it and the log mentions it only once."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._next_check = 0.0
        self.problem: StorageUnusable | None = None

    def notice(self, error: CorralError) -> CorralError:
        """Return the error, and remember it if it indicates damage. A migrated database is not damaged."""
        if isinstance(error, StorageUnusable) and not isinstance(error, StorageMoved):
            if self.problem is None:
                _log().error("database_damaged", reason=error.message, hint=error.hint)
            self.problem = error
        return error

    def is_check_due(self) -> bool:
        now = time.monotonic()
        if now < self._next_check:
            return False
        self._next_check = now + _CHECK_EVERY_S
        return True

    def check(self, tx: Tx) -> None:
        """Check for every table and column, and whether earlier damage still exists."""
        for statement in _TABLES:
            tx.all(statement)
        if self.problem is not None and (self._path is None or _is_sound(self._path, tx)):
            _log().info("database_sound_again")
            self.problem = None


def _is_sound(path: Path, tx: Tx) -> bool:
    is_checkable = path.exists() and path.stat().st_size <= _CHECKED_BYTES
    return is_checkable and bool(tx.all(_QUICK_CHECK)[0][0] == "ok")


def _log() -> Any:
    # Imported here: a read-only command logs nothing.
    from corral.log import ready_logger  # noqa: PLC0415

    return ready_logger()
