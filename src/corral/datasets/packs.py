"""Pack files: the bytes of many images in one file that is named after its content.

A batch of images costs one file, one sync and one rename. A pack that no row names, because the process died between
the rename and the transaction, is removed at the end of a build.
"""

import hashlib
import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path

from corral.domain.datasets.image import PackLocation
from corral.files.private_file import DRAFTS, check_room, replace_private
from corral.runtime.private_files import FOLDER

_SUFFIX = ".pack"
_MAX_OPEN = 64


class PackFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: OrderedDict[str, int] = OrderedDict()

    def write(self, bodies: Sequence[bytes]) -> list[PackLocation]:
        """Write the bodies as one pack. If that fails, raise OSError and leave no file behind."""
        sizes = [len(body) for body in bodies]
        if not sum(sizes):
            return [PackLocation("", 0, 0)] * len(bodies)
        self.folder.mkdir(mode=FOLDER, parents=True, exist_ok=True)
        check_room(self.folder, sum(sizes))
        digest = hashlib.sha256()
        for body in bodies:
            digest.update(body)
        name = digest.hexdigest()[:32]
        with replace_private(self.folder / f"{name}{_SUFFIX}") as file:
            file.writelines(bodies)
        locations, start = [], 0
        for size in sizes:
            locations.append(PackLocation(name, start, size))
            start += size
        return locations

    def read(self, location: PackLocation) -> bytes:
        if not location.size:
            return b""
        descriptor = self._open.get(location.pack)
        if descriptor is None:
            descriptor = os.open(self.folder / f"{location.pack}{_SUFFIX}", os.O_RDONLY | os.O_CLOEXEC)
            self._open[location.pack] = descriptor
            while len(self._open) > _MAX_OPEN:
                os.close(self._open.popitem(last=False)[1])
        body = os.pread(descriptor, location.size, location.start)
        if len(body) != location.size:
            raise OSError(5, f"{location.pack}{_SUFFIX} is shorter than its images")
        return body

    def list_names(self) -> set[str]:
        try:
            return {entry.name.removesuffix(_SUFFIX) for entry in os.scandir(self.folder) if _is_pack(entry.name)}
        except FileNotFoundError:
            return set()

    def remove(self, names: Iterable[str]) -> int:
        """Remove packs, and drafts of a process that died; return the number of packs."""
        count = 0
        for name in names:
            (self.folder / f"{name}{_SUFFIX}").unlink(missing_ok=True)
            count += 1
        if self.folder.is_dir():
            for draft in self.folder.glob(DRAFTS):
                draft.unlink(missing_ok=True)
        return count

    def close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])


def _is_pack(name: str) -> bool:
    return name.endswith(_SUFFIX) and not name.startswith(".")
