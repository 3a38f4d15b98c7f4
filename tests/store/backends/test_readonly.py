"""Reading a file that may be anybody's: nothing is left beside it, and nobody who writes meanwhile is missed."""

from pathlib import Path
from typing import Any

import pysqlite3
import pytest

from corral.domain.errors import StorageUnavailable, StorageUnusable
from corral.domain.runs.node import NodeInfo, NodeRole, NodeState
from corral.runtime.new_ids import new_owner
from corral.store.backends import sqlite_file
from corral.store.backends.clock import SystemClock
from corral.store.backends.readonly import ReadOnlyFile
from corral.store.open import open_for_reading, open_store
from corral.store.store import Store
from tests.store.builders import a_run, add_many


@pytest.fixture
async def database(tmp_path: Path) -> Path:
    path = tmp_path / "corral.db"
    store = open_store(f"sqlite:///{path}")
    await add_many(store, [a_run(payload={"text": "x" * 3000}) for _ in range(50)])
    await store.close()
    return path


def beside(path: Path) -> set[str]:
    return {file.name for file in path.parent.iterdir()}


async def test_what_is_there_is_read_and_nothing_left_behind(database: Path) -> None:
    before = beside(database)
    store = open_for_reading(f"sqlite:///{database}")
    assert len(await store.runs.newest(None, None, None, 100)) == 50
    assert await store.maintenance.audit() == []
    with pytest.raises(StorageUnavailable, match="reading only"):
        await store.runs.add([(a_run(), [])])
    await store.close()
    assert beside(database) == before


async def test_nothing_is_created_where_nothing_is(tmp_path: Path) -> None:
    store = open_for_reading(f"sqlite:///{tmp_path}/data/corral.db")
    assert await store.runs.newest(None, None, None, 100) == []
    await store.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("opening", [open_store, open_for_reading])
@pytest.mark.parametrize("offset", [100, 8 * 4096], ids=["schema page", "inside"])
def test_a_damaged_file_is_refused_and_nothing_left_beside_it(database: Path, opening: Any, offset: int) -> None:
    with database.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xa5" * 4096)
    before = beside(database)
    with pytest.raises(StorageUnusable, match="damaged"):
        opening(f"sqlite:///{database}")
    assert beside(database) == before


@pytest.mark.parametrize("closes", [True, False], ids=["and left", "and stays"])
def test_who_wrote_while_the_file_was_looked_at_is_seen(database: Path, closes: bool) -> None:
    writers: list[Any] = []

    def look(connection: Any) -> int:
        found = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
        if not writers:
            writer = pysqlite3.connect(str(database), isolation_level=None)
            writer.execute("DELETE FROM events")
            writer.execute("DELETE FROM runs")
            writers.append(writer)
            if closes:  # which moves what it wrote from the log into the file
                writer.close()
        return int(found)

    assert sqlite_file.read_quietly(database, look) == 0
    writers[0].close()


def test_damage_that_was_only_somebody_writing_is_not_reported(database: Path) -> None:
    looks: list[Any] = []

    def look(connection: Any) -> str:
        looks.append(connection)
        if len(looks) == 1:
            writer = pysqlite3.connect(str(database), isolation_level=None)
            writer.execute("DELETE FROM events")
            writer.close()
            raise pysqlite3.DatabaseError("database disk image is malformed")
        return "sound"

    assert sqlite_file.read_quietly(database, look) == "sound"


class AnHourAhead(SystemClock):
    """Somebody has set the clock of the machine."""

    def wall_ms(self) -> int:
        return super().wall_ms() + 3_600_000


async def test_who_only_looks_goes_by_the_clock_of_those_who_write(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/corral.db")
    info = NodeInfo(new_owner(), "here", 1, NodeRole.WORKER, "embedded", (), 1, "1")
    await store.nodes.heartbeat(info, 1, is_stopping=False)
    looking = Store(ReadOnlyFile(tmp_path / "corral.db", clock=AnHourAhead()))

    [worker] = await looking.nodes.list_all()

    assert worker.state is NodeState.LIVE
    await store.close()
