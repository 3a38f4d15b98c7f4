"""Manage a folder per worker for all files of its browser, removed with the worker or when the next one starts.

The owner locks a file beside its folder while it lives; the kernel releases the lock however it dies.
"""

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from corral.fetch.browser.processes import BrowserProcess, carries, children
from corral.runtime.file_lock import try_lock

_RECORD = "processes"


class BrowserHome:
    def __init__(self, root: Path) -> None:
        self._lock_path, self._lock = _claim(root)
        self.path = self._lock_path.with_suffix("")
        self.path.mkdir(mode=0o700)

    @property
    def marker(self) -> str:
        """Set in the environment of every process that uses the folder."""
        return f"TMPDIR={self.path}"

    def processes(self) -> list[BrowserProcess]:
        """Return our child processes that use the folder: the driver."""
        records = [BrowserProcess.of(pid) for pid in children(os.getpid()) if carries(pid, self.marker)]
        return [process for process in records if process is not None]

    def record_processes(self, processes: list[BrowserProcess]) -> None:
        """Record the processes, so that a sweep can end them if the owner is gone."""
        (self.path / _RECORD).write_text("".join(f"{process}\n" for process in processes))

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock_path.unlink(missing_ok=True)
        os.close(self._lock)


def homes_root() -> Path:
    """Return a private folder. If another user owns the usual name, a new one with a random name."""
    root = Path(tempfile.gettempdir()) / f"corral-browser-{os.geteuid()}"
    with contextlib.suppress(FileExistsError):
        root.mkdir(mode=0o700)
    status = root.lstat()
    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077:
        return root
    return Path(tempfile.mkdtemp(prefix="corral-browser-"))


def sweep_homes(root: Path | None = None) -> int:
    """End the processes and remove the folders of dead workers; return the number of folders."""
    swept = 0
    for lock_path in _locks_in(root):
        lock = _lock_file(lock_path, create=False)
        if lock is None:
            continue
        home = lock_path.with_suffix("")
        _end_recorded(home)
        shutil.rmtree(home, ignore_errors=True)
        lock_path.unlink(missing_ok=True)
        os.close(lock)
        swept += 1
    return swept


def _locks_in(root: Path | None) -> list[Path]:
    try:
        return sorted((root or homes_root()).glob("*.lock"))
    except OSError:  # the run that needs a browser reports an unwritable folder
        return []


def _end_recorded(home: Path) -> None:
    try:
        lines = (home / _RECORD).read_text().splitlines()
    except OSError:
        return
    for record in map(BrowserProcess.parse, lines):
        if record is not None and record.is_alive and carries(record.pid, f"TMPDIR={home}"):
            record.kill()


def _claim(root: Path) -> tuple[Path, int]:
    """Lock a new file named after this process."""
    own_process = BrowserProcess.of(os.getpid())
    name = f"{os.getpid()}-{own_process.start_ticks if own_process else 0}"
    for attempt in range(100):
        path = root / f"{name}-{attempt}.lock"
        lock = _lock_file(path, create=True)
        if lock is not None:
            return path, lock
    raise OSError(f"no free name for a browser folder in {root}")


def _lock_file(path: Path, *, create: bool) -> int | None:
    flags = os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT | os.O_EXCL if create else 0)
    try:
        lock = os.open(path, flags, 0o600)
    except OSError:
        return None
    try:
        # A sweep may have removed the file between open and lock: then the lock is worthless.
        if try_lock(lock) and os.path.samestat(os.fstat(lock), path.lstat()):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None
