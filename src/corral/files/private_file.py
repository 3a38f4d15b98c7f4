"""Write private files that appear whole or not at all, on a disk that keeps room for the database."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from corral.runtime.private_files import FILE

DRAFTS = ".????????????????"  # pattern of the drafts that a killed process leaves behind
_WRITE_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Leave the rest of the disk to the database: a saved file is not worth a run that cannot be settled.
_RESERVED_BYTES = 128 * 1024 * 1024


def check_room(folder: Path, size: int = 0) -> None:
    """Raise OSError if the disk is nearly full after `size` more bytes."""
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize < _RESERVED_BYTES + size:
        raise OSError(errno.ENOSPC, "the disk is nearly full")


def open_new(path: Path) -> int:
    """Create a private file and return its descriptor; raise FileExistsError if the path exists."""
    return os.open(path, _WRITE_NEW, FILE)


@contextmanager
def replace_private(path: Path) -> Iterator[BinaryIO]:
    """Yield a draft in the same folder; it is synced and replaces the file at the end.

    A reader sees the old file or the new one. After an error, the old file is unchanged and no draft remains.
    """
    draft = path.with_name(f".{secrets.token_hex(8)}")
    try:
        with os.fdopen(open_new(draft), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
