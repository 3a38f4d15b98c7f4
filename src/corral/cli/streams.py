"""Report a standard output or error that is closed, full or without a reader in one line, never as a traceback."""

import contextlib
import errno
import os
import sys
from typing import Any, TextIO, cast

from corral.cli.exits import FAILED, complain

_STANDARD_STREAMS = 3


class OutputLost(OSError):
    """Printed output could not be written."""


class _Output:
    """Standard output whose errors can be told apart from those of other files."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            raise OutputLost(error.errno, error.strerror) from None

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputLost(error.errno, error.strerror) from None


class _ErrorOutput(_Output):
    """Standard error that ignores write errors: there is nowhere left to report them."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()


def prepare_streams() -> None:
    _open_missing()
    # None if the caller closed the stream before the start.
    sys.stdout = cast(TextIO, _Output(sys.stdout or os.fdopen(1, "w", closefd=False)))
    sys.stderr = cast(TextIO, _ErrorOutput(sys.stderr or os.fdopen(2, "w", closefd=False)))


def _open_missing() -> None:
    """Open /dev/null in place of streams that the caller closed.

    Otherwise the next file to be opened, such as the database, gets their descriptor and receives the output.
    """
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor < _STANDARD_STREAMS:
        descriptor = os.dup(descriptor)
    os.close(descriptor)


def report_lost_output(error: OutputLost) -> int:
    """Report lost output, unless the reader closed the pipe, and return the exit code."""
    # Otherwise the interpreter would flush the buffer once more at exit, and report the error again.
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error.errno != errno.EPIPE:
        complain(f"cannot write to standard output: {error.strerror}", "free some space, or write elsewhere")
    return FAILED
