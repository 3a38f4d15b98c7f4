"""The folder of artifacts: names are ours, files private, each written whole before anything names it."""

import errno
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

from corral.domain.runs.artifact import Artifact, ArtifactKind, HeldFile, id_in

_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
_WRITE_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
# The last of a disk belongs to the database: a picture is not worth a run that cannot be settled.
_KEPT_FREE_BYTES = 128 * 1024 * 1024


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
