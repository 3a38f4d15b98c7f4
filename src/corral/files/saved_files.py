"""The files that crawls save: one folder for each run. A record refers to a file once it is complete."""

import hashlib
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from corral.files.private_file import check_room, replace_private
from corral.runtime.private_files import FOLDER

_MAX_NAME_CHARS = 80
_SPECIAL = re.compile(r"[^A-Za-z0-9._-]+")
_RUN_ID = re.compile(r"[0-9a-f-]{36}")
_NAME = re.compile(r"[0-9a-f]{16}-[A-Za-z0-9_-][A-Za-z0-9._-]*")


class SavedFile(NamedTuple):
    path: str
    sha256: str
    size: int


class FileFolder:
    def __init__(self, root: Path) -> None:
        self._root = root

    def save(self, run_id: str, name: str, data: bytes) -> SavedFile:
        """Write a file under a name made of its content and its own name, so that saving it again changes nothing.

        After an OSError, no part of the file remains.
        """
        digest = hashlib.sha256(data).hexdigest()
        folder = self._root / run_id
        folder.mkdir(mode=FOLDER, parents=True, exist_ok=True)
        path = folder / f"{digest[:16]}-{_safe(name)}"
        saved = SavedFile(str(path), digest, len(data))
        if path.is_file() and path.stat().st_size == len(data):
            return saved
        check_room(folder, len(data))
        with replace_private(path) as file:
            file.write(data)
        return saved

    def path(self, run_id: str, name: str) -> Path | None:
        """Return the path of a saved file; None if the name is invalid or the file is not on this machine."""
        if not _RUN_ID.fullmatch(run_id) or not _NAME.fullmatch(name):
            return None
        path = self._root / run_id / name
        return path if path.is_file() and not path.is_symlink() else None

    def runs(self) -> list[str]:
        """Return the runs that have files here."""
        try:
            return [entry.name for entry in os.scandir(self._root) if _RUN_ID.fullmatch(entry.name)]
        except FileNotFoundError:
            return []

    def remove(self, run_ids: Iterable[str]) -> None:
        for run_id in run_ids:
            shutil.rmtree(self._root / run_id, ignore_errors=True)


def _safe(name: str) -> str:
    """Return the name without special characters. A long name keeps its end, which has the suffix."""
    return _SPECIAL.sub("_", name)[-_MAX_NAME_CHARS:].lstrip(".") or "file"
