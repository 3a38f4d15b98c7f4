"""The folder of artifacts. Files are private and have random names; a run refers to a file once it is complete."""

import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from corral.domain.runs.artifact import Artifact, ArtifactKind, HeldFile, id_in
from corral.files.private_file import check_room, open_new
from corral.runtime.private_files import FOLDER

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHECK_EVERY_BYTES = 4 * 1024 * 1024


class Spool:
    """An artifact that grows while its run goes on. The file is created with its first byte."""

    def __init__(self, folder: "ArtifactFolder", kind: ArtifactKind) -> None:
        self._folder = folder
        self._kind = kind
        self._id = ""
        self._file: BinaryIO | None = None
        self._bytes = 0
        self._checked_at = 0
        self.problem: str | None = None  # why the rest was not written

    def write(self, data: bytes) -> None:
        if self.problem is not None or not data:
            return
        try:
            if self._file is None:
                self._id, self._file = self._folder.create(self._kind)
            if self._bytes >= self._checked_at:
                self._folder.check_room()
                self._checked_at = self._bytes + _CHECK_EVERY_BYTES
            self._file.write(data)
            self._bytes += len(data)
        except OSError as error:
            self.problem = error.strerror or str(error)

    def finish(self) -> Artifact | None:
        """Close the file and return its artifact; None if nothing was written."""
        if self._file is None:
            return None
        self._file.close()
        return Artifact(self._id, self._kind, self._bytes)

    def touch(self) -> None:
        """Renew the file's time stamp: old files without a run are removed, even while they are being written."""
        if self._file is not None:
            os.utime(self._file.fileno())


class ArtifactFolder:
    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, artifact: Artifact) -> Path:
        return self._root / artifact.file_name

    def keep(self, kind: ArtifactKind, data: bytes) -> Artifact:
        """Write a new file and return its artifact. After an OSError, no part of the file remains."""
        self._root.mkdir(mode=FOLDER, parents=True, exist_ok=True)
        check_room(self._root, len(data))
        artifact = Artifact(secrets.token_hex(16), kind, len(data))
        path = self.path(artifact)
        descriptor = open_new(path)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return artifact

    def open_spool(self, kind: ArtifactKind) -> "Spool":
        return Spool(self, kind)

    def create(self, kind: ArtifactKind) -> tuple[str, BinaryIO]:
        """Return the id and the open file of an artifact that is written in pieces."""
        self._root.mkdir(mode=FOLDER, parents=True, exist_ok=True)
        artifact = Artifact(secrets.token_hex(16), kind, 0)
        return artifact.id, os.fdopen(open_new(self.path(artifact)), "wb", buffering=0)

    def check_room(self) -> None:
        """Raise OSError if the disk is nearly full."""
        check_room(self._root)

    def read(self, artifact: Artifact) -> bytes | None:
        """Return the content; None if the file was deleted or is on another machine."""
        try:
            with os.fdopen(os.open(self.path(artifact), _READ), "rb") as file:
                return file.read()
        except OSError:
            return None

    def list_files(self) -> list[HeldFile]:
        """Return all artifact files; other files in the folder are ignored."""
        now = time.time()
        found: list[HeldFile] = []
        try:
            entries = list(os.scandir(self._root))
        except FileNotFoundError:
            return found
        for entry in entries:
            artifact_id = id_in(entry.name)
            try:
                if artifact_id is None or not entry.is_file(follow_symlinks=False):
                    continue
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            found.append(HeldFile(artifact_id, entry.name, status.st_size, now - status.st_mtime))
        return found

    def remove(self, files: Iterable[HeldFile]) -> None:
        for file in files:
            (self._root / file.name).unlink(missing_ok=True)
