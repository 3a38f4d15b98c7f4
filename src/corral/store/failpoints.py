"""Commit points for crash tests: they count commits and can kill the process before or after one of them."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

_VARIABLE = "CORRAL_CRASH_AT"  # "before:17" or "after:17"
_COUNT_VARIABLE = "CORRAL_COUNT_COMMITS"  # a file that grows by one byte per commit


class CommitPoints:
    def __init__(self) -> None:
        side, _, number = os.environ.get(_VARIABLE, "").partition(":")
        self._side = side
        self._crash_at = int(number) if number else 0
        self._count_file = os.environ.get(_COUNT_VARIABLE)
        self._commits = 0

    def perform(self, commit: Callable[[], None]) -> None:
        """Commit; kill the process before or after if this is the commit to crash at."""
        if not self._crash_at and self._count_file is None:
            commit()
            return
        self._commits += 1
        if self._commits == self._crash_at and self._side == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        commit()
        if self._count_file is not None:
            with Path(self._count_file).open("ab") as file:
                file.write(b".")
        if self._commits == self._crash_at and self._side == "after":
            os.kill(os.getpid(), signal.SIGKILL)
