"""Looking changes nothing: not the database, not what lies beside it, and not a place where there is none yet."""

import hashlib
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from corral.store import schema
from corral.store.backends import sqlite_file
from tests.cli.command import Corral
from tests.services import PostgresCluster

UNKNOWN = "01a1de72-ef57-70cc-9efc-dbcdc746657c"
LISTS: list[tuple[str, ...]] = [("run", "list"), ("job", "list"), ("session", "list"), ("site", "list")]
LOOKS: list[tuple[str, ...]] = [
    *(("run", "show", UNKNOWN), ("job", "show", UNKNOWN), ("records", UNKNOWN), ("events", UNKNOWN)),
    *(("events", "-f", UNKNOWN), ("site", "show", "example.com"), ("run", "list", "--job", UNKNOWN)),
]
DRY_RUNS: list[tuple[str, ...]] = [
    *(("run", "start", UNKNOWN), ("run", "cancel", UNKNOWN), ("run", "pause", UNKNOWN), ("run", "resume", UNKNOWN)),
    *(("run", "retry", UNKNOWN), ("job", "rm", UNKNOWN), ("session", "rm", UNKNOWN), ("session", "rotate")),
    *(("session", "add", UNKNOWN, "--cookie", "a=b"),),
    *(("session", "capture", UNKNOWN, "--login-url", "http://example.com", "--fill", "user=me"),),
    *(("job", "add", "http://example.com", "--fields", "title"), ("scrape", "http://example.com", "--fields", "title")),
]


def read_tree(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "folder"
        for file in folder.rglob("*")
    }


@pytest.fixture
def used_folder(corral: Corral, site: str) -> tuple[Corral, str]:
    """A data folder that somebody has worked with, and the run in it."""
    added = corral.here("job", "add", f"{site}/articles", "--fields", "title", APP_EGRESS_ALLOW="127.0.0.0/8:*")
    started = corral.here("run", "start", added.out.strip(), "--strategy", "http")
    assert started.code == 0, started.err
    return corral, started.out.strip()


@pytest.mark.parametrize("verb", LISTS, ids=" ".join)
def test_a_list_of_what_is_not_there_yet_is_empty(corral: Corral, verb: tuple[str, ...]) -> None:
    done = corral.here(*verb, "--json")
    assert (done.code, done.out) == (0, "[]\n")
    assert not corral.data.exists()


@pytest.mark.parametrize("verb", [("job", "list"), ("job", "rm", UNKNOWN), ("doctor",)], ids=" ".join)
def test_a_file_in_place_of_the_data_folder_is_said_to_be_one(corral: Corral, verb: tuple[str, ...]) -> None:
    corral.data.write_text("mine")
    done = corral.here(*verb)
    assert done.code == (1 if verb == ("doctor",) else 78)
    assert "is a file" in done.err + done.out or "is not a folder" in done.out
    assert corral.data.read_text() == "mine"


@pytest.mark.parametrize("verb", LOOKS, ids=" ".join)
def test_what_is_not_there_yet_is_not_found(corral: Corral, verb: tuple[str, ...]) -> None:
    done = corral.here(*verb)
    assert done.code == 1
    assert "no job" in done.err or "no run" in done.err or "nothing is known" in done.err
    assert not corral.data.exists()


@pytest.mark.parametrize("verb", DRY_RUNS, ids=" ".join)
def test_a_dry_run_creates_nothing(corral: Corral, verb: tuple[str, ...]) -> None:
    assert corral.here(*verb, "--dry-run").code in (0, 1)
    assert list(corral.folder.iterdir()) == []


def test_looking_leaves_a_used_folder_as_it_was(used_folder: tuple[Corral, str]) -> None:
    corral, run = used_folder
    before = read_tree(corral.data)
    for verb in (*LISTS, ("run", "show", run), ("events", run), ("records", run), ("doctor",)):
        assert corral.here(*verb).code == 0, verb
    for verb in (("run", "cancel", run), ("run", "pause", run), ("session", "rotate")):
        assert corral.here(*verb, "--dry-run").code == 0, verb
    assert read_tree(corral.data) == before


def test_what_another_process_has_just_written_is_seen(used_folder: tuple[Corral, str]) -> None:
    """It lies in the log yet, not in the file."""
    corral, run = used_folder
    with sqlite3.connect(corral.data / "corral.db") as writer:
        writer.execute("UPDATE runs SET priority = 0 WHERE id = ?", (run,))
        writer.commit()
        assert (corral.data / "corral.db-wal").stat().st_size
        assert corral.here("run", "show", run, "--json").json["priority"] == "critical"
    writer.close()


@pytest.fixture
def read_only(used_folder: tuple[Corral, str]) -> Iterator[tuple[Corral, str]]:
    corral, run = used_folder
    kept = corral.folder / "kept"
    corral.data.rename(kept)
    corral.data.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(corral.data)], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"a file system that is read-only needs root: {mounted.stderr.strip()}")
    shutil.copy(kept / "corral.db", corral.data)
    subprocess.run(["mount", "-o", "remount,ro", str(corral.data)], check=True)
    yield corral, run
    subprocess.run(["umount", "--lazy", str(corral.data)], check=True)


def test_a_folder_that_cannot_be_written_to_can_be_read(read_only: tuple[Corral, str]) -> None:
    corral, run = read_only
    assert [each["id"] for each in corral.here("run", "list", "--json").json] == [run]
    assert [each["seq"] for each in corral.here("events", run, "--json").json] == [1]
    assert corral.here("run", "cancel", run, "--dry-run").code == 0
    found = {check["name"]: check["verdict"] for check in corral.here("doctor", "--json").json["checks"]}
    assert (found["data folder"], found["database"], found["invariants"]) == ("wrong", "ok", "ok")
    refused = corral.here("run", "cancel", run)
    assert refused.code == 78
    assert refused.err.count("corral: ") == 1


def test_a_database_of_an_older_version_is_not_migrated_by_looking(used_folder: tuple[Corral, str]) -> None:
    corral, _ = used_folder
    with sqlite3.connect(corral.data / "corral.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    connection.close()
    before = read_tree(corral.data)
    done = corral.here("run", "list")
    assert done.code == 78
    assert "0001" in done.err
    assert schema.HEAD in done.err
    assert [check for check in corral.here("doctor", "--json").json["checks"] if check["verdict"] == "warning"]
    assert read_tree(corral.data) == before


def test_a_database_that_lost_its_version_says_so(used_folder: tuple[Corral, str]) -> None:
    corral, run = used_folder
    with sqlite3.connect(corral.data / "corral.db") as connection:
        connection.execute("DELETE FROM alembic_version")
    connection.close()
    for verb in (("run", "list"), ("run", "cancel", run)):
        done = corral.here(*verb)
        assert done.code == 78
        assert "alembic_version is empty" in done.err


def tables_of(url: str) -> int:
    with psycopg.connect(url) as connection:
        [found] = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() or (-1,)
        return int(found)


def test_an_empty_postgres_stays_empty(corral: Corral, postgres: PostgresCluster) -> None:
    url = postgres.create_database()
    settings = {"APP_DATABASE_URL": url}
    doctor = corral.here("doctor", "--json", **settings)
    assert doctor.code == 0
    assert "the PostgreSQL database is empty" in str(doctor.json)
    for verb in LISTS:
        assert corral.here(*verb, "--json", **settings).json == []
    for verb in LOOKS:
        assert corral.here(*verb, **settings).code == 1
    for verb in DRY_RUNS:
        assert corral.here(*verb, "--dry-run", **settings).code in (0, 1)
    assert tables_of(url) == 0
    postgres.drop_database(url)


def test_a_used_postgres_is_examined_and_read(corral: Corral, postgres: PostgresCluster, site: str) -> None:
    url = postgres.create_database()
    settings = {"APP_DATABASE_URL": url, "APP_EGRESS_ALLOW": "127.0.0.0/8:*"}
    job = corral.here("job", "add", f"{site}/articles", "--fields", "title", **settings).out.strip()
    assert [each["id"] for each in corral.here("job", "list", "--json", **settings).json] == [job]
    doctor = corral.here("doctor", "--json", **settings)
    verdicts = {check["name"]: check["verdict"] for check in doctor.json["checks"]}
    assert (doctor.code, verdicts["database"], verdicts["writes"], verdicts["invariants"]) == (0, "ok", "ok", "ok")
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM alembic_version")
    lost = corral.here("job", "list", **settings)
    assert lost.code == 78
    assert "alembic_version is empty" in lost.err
    postgres.drop_database(url)


def test_another_program_that_keeps_the_file_locked_is_blamed_and_corral_is_not(
    used_folder: tuple[Corral, str],
) -> None:
    corral, run = used_folder
    other = sqlite3.connect(corral.data / "corral.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    done = corral("run", "cancel", run)
    other.close()
    assert done.code == 1
    assert done.err.splitlines() == [
        f"corral: {corral.data}/corral.db is locked by another program",
        "  fix: close whatever else has it open for writing",
    ]


def test_a_corral_that_keeps_the_lock_is_blamed(
    used_folder: tuple[Corral, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corral, run = used_folder
    monkeypatch.setattr(sqlite_file, "LOCK_WAIT_S", 0.2)
    lock = sqlite_file.WriteLock(corral.data / "corral.db")
    with lock.hold():
        done = corral.here("run", "cancel", run)
    lock.close()
    assert done.code == 1
    assert "another Corral process has held the write lock for too long" in done.err
    assert "stopped or hanging `corral` process" in done.err
