"""Disk space that is reserved in advance and released when the disk is full, so that running work can be recorded."""

import os
import shutil
from pathlib import Path

from corral.domain.errors import StorageFull

_MIB = 1024 * 1024
_SIZE = 8 * _MIB
# Free space needed to continue after the disk was full: the reserve, and some room for new work.
NEEDED_BYTES = _SIZE + 2 * _MIB


def full(path: Path | None) -> StorageFull:
    """Return the error for a full disk; its hint says how much space to free, and where."""
    if path is None:
        return StorageFull("no room left to write the database in memory", hint="give the process more memory")
    free = shutil.disk_usage(path.parent).free
    missing_mib = -(-(NEEDED_BYTES - free) // _MIB)
    hint = f"free {missing_mib} MiB more on the disk of {path.parent}; Corral then continues by itself"
    if missing_mib <= 0:
        hint = f"the disk of {path.parent} has room, so check for a quota; Corral then continues by itself"
    needed = f"{free / _MIB:.1f} MiB are free, and {NEEDED_BYTES // _MIB} MiB are needed to go on"
    return StorageFull(f"no room left to write {path}: {needed}", hint=hint)


class DiskReserve:
    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + "-ballast")
        self._is_spent = False

    def restore(self) -> None:
        """Reserve the space, unless it is reserved already or the disk has too little left."""
        if self._path.exists():
            self._is_spent = False
            return
        if shutil.disk_usage(self._path.parent).free < NEEDED_BYTES:
            return
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(file, 0, _SIZE)
            self._is_spent = False
        except OSError:
            self._path.unlink(missing_ok=True)
        finally:
            os.close(file)

    def release(self) -> bool:
        """Release the space; False if there was none to release."""
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        self._is_spent = True
        return True

    @property
    def is_spent(self) -> bool:
        """Return whether only the released space is left, which is for essential writes."""
        if self._is_spent:
            self.restore()
        return self._is_spent
