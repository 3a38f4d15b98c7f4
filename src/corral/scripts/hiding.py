"""Hide paths from a script. The script host loads this module, so it uses the standard library only."""

import os
from collections.abc import Iterator

from corral.scripts import kernel


def cover_all(hidden: list[str], needed: list[str]) -> None:
    """Cover files and folders of Corral, but not the script itself or its working directory."""
    needed_paths = [os.path.realpath(path) for path in needed if path.startswith("/")]
    for path in hidden:
        for covered in choose_covers(os.path.realpath(path), needed_paths):
            kernel.cover(covered)


def choose_covers(path: str, needed: list[str]) -> Iterator[str]:
    """Yield the path itself, or, if it contains a needed path, everything beside that."""
    if not os.path.exists(path):  # noqa: PTH110
        return
    inside = [other for other in needed if other == path or other.startswith(path.rstrip("/") + "/")]
    if not inside:
        yield path
    elif path not in inside:
        for name in os.listdir(path):  # noqa: PTH208
            yield from choose_covers(f"{path.rstrip('/')}/{name}", inside)
