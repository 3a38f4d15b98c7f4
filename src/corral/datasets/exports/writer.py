"""The protocol and the draft files of the writers of export formats."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

Entry = dict[str, Any]  # a line of the manifest


class ExportWriter(Protocol):
    """Takes the images in the order of their keys; `end` completes the files, `abandon` removes unfinished ones."""

    def add(self, entry: Entry, body: bytes) -> None: ...

    def end(self) -> list[str]:
        """Return the paths that were written, relative to the output folder."""
        ...

    def abandon(self) -> None: ...


class DraftFile:
    """A file that gets its name when it is complete."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self.draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        self.file = self.draft.open("wb")

    def end(self) -> None:
        if not self.file.closed:
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()
        self.draft.replace(self._path)

    def abandon(self) -> None:
        self.file.close()
        self.draft.unlink(missing_ok=True)


@contextmanager
def write_whole(path: Path) -> Iterator[Any]:
    """Write a file that appears whole or not at all."""
    draft = DraftFile(path)
    try:
        yield draft.file
    except BaseException:
        draft.abandon()
        raise
    draft.end()


def check_writable(folder: Path) -> None:
    """Raise OSError if the folder is not writable, before images are downloaded for it."""
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f".{secrets.token_hex(4)}.part"
    probe.touch(exist_ok=False)
    probe.unlink()
