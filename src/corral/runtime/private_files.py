"""File modes: the data folder is private to its user; files that the user names follow the umask."""

import contextlib
import os
from pathlib import Path

FOLDER = 0o700
FILE = 0o600
OTHERS = 0o077
_usual_umask: int | None = None  # of the process at its start
_folders: set[Path] = set()


def keep_files_private() -> None:
    """Make all new files of this process and its children private, including those of libraries."""
    global _usual_umask  # noqa: PLW0603 - a process has one umask
    before = os.umask(OTHERS)
    if _usual_umask is None:
        _usual_umask = before


def know_data_folder(folder: Path) -> None:
    """Treat files that the user writes into this folder as private, too."""
    _folders.add(folder.resolve())


def make_data_folder(folder: Path) -> None:
    """Create the folder if it is missing. An existing one keeps its owner's mode; `corral doctor` warns."""
    know_data_folder(folder)
    with contextlib.suppress(OSError):  # the code that uses the folder reports what is wrong with it
        folder.mkdir(mode=FOLDER, parents=True)


def mode_for(path: Path) -> int:
    """Return the mode of a file that the user named: by the umask, except inside a data folder."""
    if any(path.resolve().is_relative_to(folder) for folder in _folders):
        return FILE
    mask = os.umask(OTHERS)
    os.umask(mask)
    return 0o666 & ~(mask if _usual_umask is None else _usual_umask)
