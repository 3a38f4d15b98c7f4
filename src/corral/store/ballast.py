"""A reserve on the disk: given up when it is full, so that what was running can still be recorded."""

import os
import shutil
from pathlib import Path

_SIZE = 8 * 1024 * 1024


class Ballast:
    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + "-ballast")
        self._is_spent = False

    def lay(self) -> None:
        """Reserve the room, unless it is already reserved or would take the last of the disk."""
        if self._path.exists():
            self._is_spent = False
            return
        if shutil.disk_usage(self._path.parent).free < 3 * _SIZE:
            return
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(file, 0, _SIZE)
            self._is_spent = False
        except OSError:
            self._path.unlink(missing_ok=True)
        finally:
            os.close(file)

    def drop(self) -> bool:
        """Give the room up; False where there was none left to give."""
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        self._is_spent = True
        return True

    @property
    def is_spent(self) -> bool:
        """True while what was given up is all there is: it is kept for what has to be recorded."""
        if self._is_spent:
            self.lay()
        return self._is_spent
