"""Report a standard output or error that is closed, full or without a reader in one line, never as a traceback."""

import contextlib
import errno
import os
import sys
from typing import Any, TextIO, cast

from corral.cli.exits import FAILED, complain

_STANDARD = 3


class Unheard(OSError):
    """Something was printed and could not be written."""


class _Output:
    """Standard output that tells its own failures apart from those of any other file."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            raise Unheard(error.errno, error.strerror) from None

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise Unheard(error.errno, error.strerror) from None


class _Complaints(_Output):
    """Standard error: what cannot be said there can be said nowhere, and changes nothing."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()


def prepare_streams() -> None:
    _open_missing()
    # None where the caller had closed them before we were started.
    sys.stdout = cast(TextIO, _Output(sys.stdout or os.fdopen(1, "w", closefd=False)))
    sys.stderr = cast(TextIO, _Complaints(sys.stderr or os.fdopen(2, "w", closefd=False)))


def _open_missing() -> None:
    """What a caller has closed leads nowhere from now on.

    Otherwise the next file to be opened, maybe the database, gets its number, and what is printed goes there.
    """
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor < _STANDARD:
        descriptor = os.dup(descriptor)
    os.close(descriptor)


def report_lost_output(error: Unheard) -> int:
    """Report lost output, unless the reader closed the pipe, and return the exit code."""
    # Otherwise the interpreter would flush the buffer once more at exit, and complain again.
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error.errno != errno.EPIPE:
        complain(f"cannot write to standard output: {error.strerror}", "free some space, or write elsewhere")
    return FAILED
