"""Locks on open files (flock). The kernel releases a lock when its holder dies, however it dies."""

import fcntl
import os
from pathlib import Path


def try_lock(descriptor: int) -> bool:
    """Lock exclusively without waiting; return False if another process holds the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_until_free(descriptor: int) -> None:
    """Wait until no process holds the lock exclusively. It takes a shared lock, which ends with the open file."""
    fcntl.flock(descriptor, fcntl.LOCK_SH)


def unlock(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock on this file. Raise OSError if the file cannot be opened."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # held, or the file system does not support locks
        return True
    finally:
        os.close(descriptor)
    return False
