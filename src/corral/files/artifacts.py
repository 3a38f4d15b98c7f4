"""The folder of artifacts: names are ours, files private, each written whole before anything names it."""

import errno
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from corral.domain.runs.artifact import Artifact, ArtifactKind, HeldFile, id_in

_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
_WRITE_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHECK_EVERY_BYTES = 4 * 1024 * 1024
# The last of a disk belongs to the database: a picture is not worth a run that cannot be settled.
_KEPT_FREE_BYTES = 128 * 1024 * 1024


class Spool:
    """An artifact that grows while its run goes on. The file is created with its first byte."""

    def __init__(self, folder: "ArtifactFolder", kind: ArtifactKind) -> None:
        self._folder = folder
        self._kind = kind
        self._id = ""
        self._file: BinaryIO | None = None
        self._bytes = 0
        self._checked_at = 0
        self.problem: str | None = None  # why the rest was not kept

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
        """Close the file; None where nothing was written."""
        if self._file is None:
            return None
        self._file.close()
        return Artifact(self._id, self._kind, self._bytes)

    def keep_young(self) -> None:
        """A file that no run names yet is removed when it is old, also one that is still written."""
        if self._file is not None:
            os.utime(self._file.fileno())


class ArtifactFolder:
    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, artifact: Artifact) -> Path:
        return self._root / artifact.file_name

    def keep(self, kind: ArtifactKind, data: bytes) -> Artifact:
        """Write a new file; OSError where that cannot be done, and then nothing is left of it."""
        self._root.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        room = os.statvfs(self._root)
        if room.f_bavail * room.f_frsize < _KEPT_FREE_BYTES + len(data):
            raise OSError(errno.ENOSPC, "the disk is nearly full")
        artifact = Artifact(secrets.token_hex(16), kind, len(data))
        path = self.path(artifact)
        descriptor = os.open(path, _WRITE_NEW, _PRIVATE_FILE)
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
        """Return the id and the open file of an artifact that is written bit by bit."""
        self._root.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        artifact = Artifact(secrets.token_hex(16), kind, 0)
        descriptor = os.open(self.path(artifact), _WRITE_NEW, _PRIVATE_FILE)
        return artifact.id, os.fdopen(descriptor, "wb", buffering=0)

    def check_room(self) -> None:
        """OSError where the disk is nearly full."""
        room = os.statvfs(self._root)
        if room.f_bavail * room.f_frsize < _KEPT_FREE_BYTES:
            raise OSError(errno.ENOSPC, "the disk is nearly full")

    def read(self, artifact: Artifact) -> bytes | None:
        """The content; None where the file is not here any more, or not on this machine."""
        try:
            with os.fdopen(os.open(self.path(artifact), _READ), "rb") as file:
                return file.read()
        except OSError:
            return None

    def list_files(self) -> list[HeldFile]:
        """Every file of ours; whatever else lies in the folder is left alone."""
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
                about = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            found.append(HeldFile(artifact_id, entry.name, about.st_size, now - about.st_mtime))
        return found

    def remove(self, files: Iterable[HeldFile]) -> None:
        for file in files:
            (self._root / file.name).unlink(missing_ok=True)
