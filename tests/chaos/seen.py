"""What must have happened at least once while the suite broke things: otherwise it broke too little.

A file, because some of it is seen by other processes.
"""

import os
import tempfile
from pathlib import Path

STALE = "a stale write was refused"
LOST_RACE = "a reaper lost a race"
POISON = "the poison cap was hit"
ALL = (STALE, LOST_RACE, POISON)

_path = Path(os.environ.get("CORRAL_SEEN", "") or tempfile.mkdtemp(prefix="corral-seen-")) / "seen"


def sometimes(what: str, happened: bool) -> None:
    """Note that one of the things worth seeing has happened."""
    assert what in ALL, f"{what!r} is not on the list"
    if happened:
        with _path.open("a") as file:
            file.write(what + "\n")


def seen() -> set[str]:
    return set(_path.read_text().splitlines()) if _path.exists() else set()
