"""The marks of a migration to PostgreSQL: in the SQLite file it reads, and in the database it fills."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from corral.domain.errors import StorageMoved

KEY = "move"  # in corral_meta, on both sides
MOVED_PREFIX = "moved to PostgreSQL on "
# In the header of the file, where it costs nothing to read: "move" as four letters.
_MOVED = 0x6D6F7665

Connection = Any  # pysqlite3 carries no types


class MoveState(StrEnum):
    MOVING = "moving"  # on the file: a migration has begun; the file stays authoritative until it is MOVED
    MOVED = "moved"  # on the file: no writes are allowed
    ARRIVING = "arriving"  # on the target: not usable until the file is marked MOVED
    ARRIVED = "arrived"  # on the target: it is authoritative


@dataclass(frozen=True, slots=True)
class Mark:
    """A migration mark. It is identical on both sides, except for the state."""

    id: str
    state: MoveState
    instance: str  # the installation that is migrated
    to: str  # the target, without user and password
    at: str

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Mark":
        fields = json.loads(text)
        return cls(fields["id"], MoveState(fields["state"]), fields["instance"], fields["to"], fields["at"])

    @property
    def sentence(self) -> str:
        """Return the error message for every write to the file."""
        return f"{MOVED_PREFIX}{self.at} ({self.to}); set APP_DATABASE_URL"


def now_text() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def refuse_moved(connection: Connection, path: Path | None) -> None:
    """Raise StorageMoved if this database was migrated: it accepts no writes, and its data is outdated."""
    if path is not None and connection.execute("PRAGMA user_version").fetchone()[0] == _MOVED:
        mark = of_file(connection)
        raise StorageMoved(str(path), mark.sentence if mark else f"{MOVED_PREFIX}an unknown day")


def of_file(connection: Connection) -> Mark | None:
    row = connection.execute("SELECT value FROM corral_meta WHERE key = ?", (KEY,)).fetchone()
    return None if row is None else Mark.read(row[0])


def write(connection: Connection, mark: Mark) -> None:
    connection.execute("INSERT OR REPLACE INTO corral_meta VALUES (?, ?)", (KEY, mark.text()))


def close_file(connection: Connection, mark: Mark, tables: Iterable[str]) -> None:
    """Close the file in the open transaction: after its commit every write by any program is refused.

    Corral reads the header first; triggers stop older versions and other programs.
    """
    write(connection, mark)
    connection.execute(f"PRAGMA user_version = {_MOVED}")
    message = mark.sentence.replace("'", "''")
    for table in tables:
        for event in ("INSERT", "UPDATE", "DELETE"):
            connection.execute(
                f'CREATE TRIGGER "moved_{table}_{event.lower()}" BEFORE {event} ON "{table}" '
                f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
            )
