"""The live nodes of a data folder: each holds a file lock, which the kernel releases when the process dies.

Runs of a node that is known to be dead are requeued before their leases expire.
"""

import contextlib
import os
from pathlib import Path

from corral.domain.ids import Owner
from corral.runtime.file_lock import is_locked, try_lock

_SUFFIX = ".node"


class Presence:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[Owner, int] = {}

    def enter(self, owner: Owner) -> None:
        """Take the lock. Without a writable folder, other nodes wait until the leases expire."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path(owner), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if try_lock(descriptor):
                self._held[owner] = descriptor

    def leave(self, owner: Owner) -> None:
        descriptor = self._held.pop(owner, None)
        if descriptor is not None:
            self._path(owner).unlink(missing_ok=True)
            os.close(descriptor)

    def find_gone(self) -> list[Owner]:
        """Return the nodes that died in this folder; call `forget` once their leases are released."""
        return [Owner(path.stem) for path in sorted(self._folder.glob(f"*{_SUFFIX}")) if not self._is_held(path)]

    def forget(self, owner: Owner) -> None:
        self._path(owner).unlink(missing_ok=True)

    def _is_held(self, path: Path) -> bool:
        try:
            return is_locked(path)
        except OSError:  # unreadable: the node may be alive
            return True

    def _path(self, owner: Owner) -> Path:
        return self._folder / f"{owner}{_SUFFIX}"
