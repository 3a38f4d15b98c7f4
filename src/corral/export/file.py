"""A file that appears whole or not at all."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from corral.runtime.private_files import mode_for


def real_path(path: Path) -> Path:
    """Where the file really lies: what a link leads to is written, and the link stays."""
    try:
        return path.resolve()
    except RuntimeError:  # links in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Written beside the file, which is put in place at the end.

    A reader never sees half of it, and where something goes wrong what was there before stays.
    """
    place = real_path(path)
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:200]}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(_mode_for(place))
        part.replace(place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync(place.parent)


def _sync(folder: Path) -> None:
    """The name is as lasting as the content."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # file systems that cannot, and need not
            raise
    finally:
        os.close(descriptor)


def _mode_for(path: Path) -> int:
    """As if the file had been opened in the ordinary way; `mkstemp` makes private ones."""
    if path.exists():
        return path.stat().st_mode & 0o777
    return mode_for(path)
