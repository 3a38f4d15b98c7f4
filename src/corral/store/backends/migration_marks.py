"""The marks that a move leaves: in the file it came from, and in the database it went to."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from corral.domain.errors import StorageMoved

KEY = "move"  # in corral_meta, on both sides
TOLD = "moved to PostgreSQL on "
# In the header of the file, where asking costs nothing: "move" in four letters.
_MOVED = 0x6D6F7665

Connection = Any  # pysqlite3 carries no types


class MoveState(StrEnum):
    MOVING = "moving"  # of the file: a move was begun; until it is moved the file is the one that counts
    MOVED = "moved"  # of the file: nothing is written to it any more
    ARRIVING = "arriving"  # of the target: it is not to be used before the file says that it is moved
    ARRIVED = "arrived"  # of the target: it is the one that counts


@dataclass(frozen=True, slots=True)
class Mark:
    """The same on both sides but for the state."""

    id: str
    state: MoveState
    instance: str  # the installation that is moved
    to: str  # where to, without user and password
    at: str

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Mark":
        told = json.loads(text)
        return cls(told["id"], MoveState(told["state"]), told["instance"], told["to"], told["at"])

    @property
    def sentence(self) -> str:
        """What everybody hears who tries to write to the file."""
        return f"{TOLD}{self.at} ({self.to}); set APP_DATABASE_URL"


def now_text() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def refuse_moved(connection: Connection, path: Path | None) -> None:
    """StorageMoved where nothing is to be written here any more, and what can be read is only what once was."""
    if path is not None and connection.execute("PRAGMA user_version").fetchone()[0] == _MOVED:
        mark = of_file(connection)
        raise StorageMoved(str(path), mark.sentence if mark else f"{TOLD}an unknown day")


def of_file(connection: Connection) -> Mark | None:
    row = connection.execute("SELECT value FROM corral_meta WHERE key = ?", (KEY,)).fetchone()
    return None if row is None else Mark.read(row[0])


def write(connection: Connection, mark: Mark) -> None:
    connection.execute("INSERT OR REPLACE INTO corral_meta VALUES (?, ?)", (KEY, mark.text()))


def close_file(connection: Connection, mark: Mark, tables: Iterable[str]) -> None:
    """In the open transaction: from its commit on every write is refused, whichever program tries it.

    Ours look at the header first; a version that does not, or another program, meets the triggers.
    """
    write(connection, mark)
    connection.execute(f"PRAGMA user_version = {_MOVED}")
    told = mark.sentence.replace("'", "''")
    for table in tables:
        for event in ("INSERT", "UPDATE", "DELETE"):
            connection.execute(
                f'CREATE TRIGGER "moved_{table}_{event.lower()}" BEFORE {event} ON "{table}" '
                f"BEGIN SELECT RAISE(ABORT, '{told}'); END"
            )
