"""Who may read what we write: the data folder belongs to its user alone; files that a person names follow the umask."""

import contextlib
import os
from pathlib import Path

FOLDER = 0o700
FILE = 0o600
OTHERS = 0o077
_usual_umask: int | None = None  # the one we were started with
_folders: set[Path] = set()


def keep_files_private() -> None:
    """From now on everything this process and its children create is private, also what libraries create."""
    global _usual_umask  # noqa: PLW0603 - a process has one umask
    before = os.umask(OTHERS)
    if _usual_umask is None:
        _usual_umask = before


def know_data_folder(folder: Path) -> None:
    """What a person writes into this folder is as private as the rest of it."""
    _folders.add(folder.resolve())


def make_data_folder(folder: Path) -> None:
    """Create it where it is missing. One that is there keeps its mode: its owner chose it; `corral doctor` warns."""
    know_data_folder(folder)
    with contextlib.suppress(OSError):  # the code that uses the folder reports what is wrong with it
        folder.mkdir(mode=FOLDER, parents=True)


def mode_for(path: Path) -> int:
    """The mode of a file that a person named: as the umask says, except inside a data folder."""
    if any(path.resolve().is_relative_to(folder) for folder in _folders):
        return FILE
    mask = os.umask(OTHERS)
    os.umask(mask)
    return 0o666 & ~(mask if _usual_umask is None else _usual_umask)
