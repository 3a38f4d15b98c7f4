"""Which paths a script does not see. Loaded by the script host: the standard library only."""

import os
from collections.abc import Iterator

from corral.scripts import kernel


def cover_all(hidden: list[str], needed: list[str]) -> None:
    """Cover files and folders of Corral, but nothing that the script lies in or runs in."""
    kept = [os.path.realpath(path) for path in needed if path.startswith("/")]
    for path in hidden:
        for each in choose_covers(os.path.realpath(path), kept):
            kernel.cover(each)


def choose_covers(path: str, kept: list[str]) -> Iterator[str]:
    """The path itself, or, where something that is kept lies in it, everything beside that."""
    if not os.path.exists(path):  # noqa: PTH110
        return
    inside = [each for each in kept if each == path or each.startswith(path.rstrip("/") + "/")]
    if not inside:
        yield path
    elif path not in inside:
        for name in os.listdir(path):  # noqa: PTH208
            yield from choose_covers(f"{path.rstrip('/')}/{name}", inside)
