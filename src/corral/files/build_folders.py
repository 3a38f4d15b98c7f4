"""The folders of dataset builds: one for each build, with its pack files and a lock."""

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = "lock"
_BUILD = re.compile(r"[0-9a-f]{24}")


class BuildFolders:
    def __init__(self, root: Path) -> None:
        self._root = root

    def list_builds(self) -> list[str]:
        try:
            entries = list(os.scandir(self._root))
        except FileNotFoundError:
            return []
        return sorted(each.name for each in entries if _BUILD.fullmatch(each.name) and not each.is_symlink())

    def remove(self, build: str, min_age_s: float) -> bool:
        """Remove the folder of a build that no process holds, if it is unchanged for `min_age_s`; return success."""
        folder = self._root / build
        try:
            with hold_build(folder):
                newest = max(path.stat().st_mtime for path in (folder, folder / "packs") if path.exists())
                if time.time() - newest < min_age_s:
                    return False
                shutil.rmtree(folder)
                return True
        except (BlockingIOError, FileNotFoundError):
            return False


@contextmanager
def hold_build(folder: Path) -> Iterator[None]:
    """Hold the lock of a build: one process at a time works on it. BlockingIOError if another one does."""
    while True:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_current(descriptor, folder / _LOCK):
                yield
                return
        finally:
            os.close(descriptor)


def _is_current(descriptor: int, path: Path) -> bool:
    """Return False if the folder of the lock was removed in the meantime."""
    try:
        return os.fstat(descriptor).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False
