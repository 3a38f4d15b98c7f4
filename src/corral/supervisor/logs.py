"""Log files of child processes: append-only, readable by their owner only, bounded in size."""

import os
from pathlib import Path
from typing import BinaryIO

MAX_BYTES = 10 * 1024 * 1024
_MAX_ROTATED = 3
_TAIL_BYTES = 4_000
_COPIED_BYTES = 1024 * 1024


def open_log(path: Path) -> int:
    """Open the file for appending. The program writes to it directly, so that its last output is never lost."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def rotate(path: Path, max_bytes: int = MAX_BYTES) -> bool:
    """Rotate the file if it is too large; return whether it was rotated.

    The writing program keeps the file open, so the file is copied and truncated in place.
    """
    try:
        if path.stat().st_size <= max_bytes:
            return False
    except FileNotFoundError:
        return False
    for number in range(_MAX_ROTATED - 1, 0, -1):
        older = _log_path(path, number)
        if older.exists():
            older.replace(_log_path(path, number + 1))
    with path.open("r+b") as source, _private(_log_path(path, 1)) as rotated:
        # Copy until nothing more arrives: output between the last read and the truncation is lost.
        while chunk := source.read(_COPIED_BYTES):
            rotated.write(chunk)
        rotated.flush()  # before the source loses it
        source.truncate(0)
    return True


def tail(path: Path, lines: int = 10) -> list[str]:
    """Return the last lines, which explain why the program ended."""
    try:
        with path.open("rb") as source:
            source.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            text = source.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()][-lines:]


def _log_path(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _private(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")
