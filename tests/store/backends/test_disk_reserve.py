"""A full disk, and files that are not what they should be."""

import asyncio
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pysqlite3
import pytest

from corral.domain.errors import StorageFull, StorageUnusable
from corral.domain.runs.run import RunState
from corral.store.open import open_store
from corral.store.store import Store
from tests.store import builders
from tests.store.builders import ME, a_run, add, add_many, claim_new

MIB = 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={40 * MIB}", "tmpfs", str(disk)]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"a file system of a given size needs root: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            for size in (MIB, 4096, 1):
                while True:
                    try:
                        file.write(b"\0" * size)
                    except OSError:
                        break
        finally:
            assert shutil.disk_usage(disk).free == 0
    return filler


def _leave_free(filler: Path, free: int) -> None:
    missing = free - shutil.disk_usage(filler.parent).free
    os.truncate(filler, filler.stat().st_size - missing)


async def _write_until_full(store: Store) -> None:
    """The write-ahead log may have some room left from before."""
    for _ in range(200):
        await add_many(store, [a_run(payload={"text": "x" * 20_000}) for _ in range(10)])


def _integrity(path: Path) -> str:
    connection = pysqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


async def test_a_full_disk_stops_new_work_and_nothing_else(small_disk: Path) -> None:
    path = small_disk / "corral.db"
    store = open_store(f"sqlite:///{path}")
    leases = [await claim_new(store, lease_s=60) for _ in range(20)]
    filler = _fill(small_disk)

    with pytest.raises(StorageFull):
        await _write_until_full(store)
    with pytest.raises(StorageFull):
        async with asyncio.timeout(1):
            await _write_until_full(store)
    assert (await store.runs.get(leases[0].run_id)).state is RunState.RUNNING
    assert (await store.runs.count_live())["running"] == 20
    assert _integrity(path) == "ok"

    # What was running is written into the reserve.
    assert store.runs.renew_from_thread([leases[0].key], ME, 60) == {leases[0].key}
    settled = await asyncio.gather(
        *(builders.settle(store, builders.complete(lease, [{"text": "y" * 5000}])) for lease in leases)
    )
    assert all(settled)
    assert (await store.runs.get(leases[0].run_id)).state is RunState.COMPLETED
    assert not (small_disk / "corral.db-ballast").exists()
    assert _integrity(path) == "ok"
    with pytest.raises(StorageFull):
        await add(store)  # the rest of the reserve is not for new work, however small

    # The reserve, and a little to work with: no more than that has to be freed, and it says how much.
    _leave_free(filler, 8 * MIB)
    with pytest.raises(StorageFull) as refused:
        await add(store)
    assert f"free 2 MiB more on the disk of {small_disk}" in (refused.value.hint or "")
    _leave_free(filler, 11 * MIB)
    await _small_writes_work(store)
    assert (small_disk / "corral.db-ballast").stat().st_size == 8 * MIB
    assert await store.maintenance.audit() == []
    await store.close()


async def _small_writes_work(store: Store) -> None:
    run_id = await add(store)
    assert (await store.runs.get(run_id)).state is RunState.QUEUED


async def test_a_group_on_a_full_disk_is_told_one_by_one(small_disk: Path) -> None:
    store = open_store(f"sqlite:///{small_disk}/corral.db")
    lease = await claim_new(store)
    filler = _fill(small_disk)
    with pytest.raises(StorageFull):
        await _write_until_full(store)
    large = {"text": "x" * 100_000}
    answers = await asyncio.gather(
        *(add(store, a_run(payload=large)) for _ in range(5)),
        builders.settle(store, builders.complete(lease)),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers[:5]] == [StorageFull] * 5
    assert answers[5] is True
    filler.unlink()
    await store.close()


async def test_a_disk_that_is_full_at_the_start_is_named(small_disk: Path) -> None:
    _fill(small_disk)
    with pytest.raises(StorageFull, match=r"corral\.db"):
        open_store(f"sqlite:///{small_disk}/corral.db")


# -- damaged files ---------------------------------------------------------------------------------------


@pytest.fixture
async def database(tmp_path: Path) -> Path:
    path = tmp_path / "corral.db"
    store = open_store(f"sqlite:///{path}")
    await add_many(store, [a_run(payload={"text": "x" * 3000}) for _ in range(200)])
    await store.close()
    assert not path.with_name("corral.db-wal").exists()
    return path


def _change(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def _execute(path: Path, statement: str) -> None:
    connection = pysqlite3.connect(str(path))
    connection.execute(statement)
    connection.commit()
    connection.close()


def _of_another_program(path: Path) -> None:
    path.unlink()
    _execute(path, "CREATE TABLE bookmarks (url TEXT)")


def _cut(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "magic": lambda path: _change(path, 0, b"SQLitX"),
    "page size": lambda path: _change(path, 16, b"\xff\x03"),
    "schema page": lambda path: _change(path, 100, b"\xff" * 64),
    "header only": lambda path: _cut(path, 100),
    "half": lambda path: _cut(path, path.stat().st_size // 2),
    "one page short": lambda path: _cut(path, path.stat().st_size - 4096),
    "a few bytes short": lambda path: _cut(path, path.stat().st_size - 100),
    "flipped inside": lambda path: _change(path, path.stat().st_size // 2 & ~4095, b"\xa5" * 4096),
    "text": lambda path: path.write_bytes(b"these are my notes\n" * 100),
    "another program": _of_another_program,
    "newer": lambda path: _execute(path, "UPDATE alembic_version SET version_num = '9999'"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_not_ours_or_not_whole_is_refused_untouched(database: Path, damage: str) -> None:
    DAMAGES[damage](database)
    before = hashlib.sha256(database.read_bytes()).digest()
    with pytest.raises(StorageUnusable) as refusal:
        open_store(f"sqlite:///{database}")
    assert str(database) in refusal.value.message
    assert refusal.value.hint
    assert hashlib.sha256(database.read_bytes()).digest() == before


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "corral.db").mkdir()
    with pytest.raises(StorageUnusable, match=r"corral\.db"):
        open_store(f"sqlite:///{tmp_path}/corral.db")


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(StorageUnusable, match=r"corral\.db"):
        open_store(f"sqlite:///{tmp_path}/data/corral.db")


async def test_a_disk_that_is_full_at_a_restart_is_named(small_disk: Path) -> None:
    store = open_store(f"sqlite:///{small_disk}/corral.db")
    await add(store)
    await store.close()
    filler = _fill(small_disk)
    try:
        store = open_store(f"sqlite:///{small_disk}/corral.db")
    except StorageFull as refusal:
        assert "corral.db" in refusal.message  # noqa: PT017 - both are right: it depends on what is left over
    else:
        await store.close()
    filler.unlink()
    store = open_store(f"sqlite:///{small_disk}/corral.db")
    await add(store)
    await store.close()


async def _crash(tmp_path: Path) -> tuple[Path, list[str]]:
    """Files as a crash leaves them: the log not merged, nothing closed."""
    running = tmp_path / "running"
    store = open_store(f"sqlite:///{running}/corral.db")
    ids = [await add(store, a_run(payload={"text": "x" * 3000})) for _ in range(20)]
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("corral.db", "corral.db-wal"):
        shutil.copy(running / name, crashed / name)
    await store.close()
    return crashed / "corral.db", ids


async def _list_runs(path: Path) -> list[str]:
    store = open_store(f"sqlite:///{path}")
    assert await store.maintenance.audit() == []
    ids: list[str] = [run.id for run in await store.runs.newest(None, None, None, 100)]
    await add(store)
    await store.close()
    assert _integrity(path) == "ok"
    return ids[::-1]


async def test_after_a_crash_every_answered_write_is_there(tmp_path: Path) -> None:
    path, ids = await _crash(tmp_path)
    assert await _list_runs(path) == ids


@pytest.mark.parametrize("lost_bytes", [1, 100, 4096, 5000])
async def test_a_torn_end_of_the_log_loses_only_the_last_write(tmp_path: Path, lost_bytes: int) -> None:
    path, ids = await _crash(tmp_path)
    log = path.with_name("corral.db-wal")
    _cut(log, log.stat().st_size - lost_bytes)
    assert await _list_runs(path) == ids[:-1]


async def test_garbage_at_the_end_of_the_log_loses_nothing(tmp_path: Path) -> None:
    path, ids = await _crash(tmp_path)
    with path.with_name("corral.db-wal").open("ab") as file:
        file.write(b"\xa5" * 10_000)
    assert await _list_runs(path) == ids


async def test_a_path_with_awkward_characters_works(tmp_path: Path) -> None:
    path = tmp_path / "a b%20?#ü" / "corral.db"
    store = open_store(f"sqlite:///{path}")
    await add(store)
    await store.close()
    assert path.exists()
