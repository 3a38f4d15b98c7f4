"""Write a file atomically: it appears complete or not at all."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from corral.runtime.private_files import mode_for


def real_path(path: Path) -> Path:
    """Resolve symbolic links, so that the target of a link is written and the link stays."""
    try:
        return path.resolve()
    except RuntimeError:  # a loop of symbolic links
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a temporary file in the same folder; it replaces the file at the end.

    A reader never sees a partial file, and after an error the old file is unchanged.
    """
    target = real_path(path)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:200]}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(_mode_for(target))
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync(target.parent)


def _sync(folder: Path) -> None:
    """Sync the folder, so that the new name survives a crash like the content."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # the file system cannot sync folders, and need not
            raise
    finally:
        os.close(descriptor)


def _mode_for(path: Path) -> int:
    """Return the mode that an ordinary `open` would give the file; `mkstemp` creates private files."""
    if path.exists():
        return path.stat().st_mode & 0o777
    return mode_for(path)
