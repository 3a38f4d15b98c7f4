import os
import sqlite3

import pytest

from tests.cli.command import Corral


def test_a_healthy_data_folder_has_nothing_wrong(corral: Corral) -> None:
    corral.create()
    assert corral.here("job", "list").out == "no jobs yet; add one with `corral job add URL --fields title`\n"

    done = corral("doctor", "--json")

    assert done.code == 0
    verdicts = {check["name"]: check["verdict"] for check in done.json["checks"]}
    assert verdicts["settings"] == verdicts["data folder"] == verdicts["database"] == verdicts["invariants"] == "ok"


def test_a_place_without_data_is_fine_and_stays_empty(corral: Corral) -> None:
    done = corral.here("doctor")

    assert done.code == 0
    assert "is not there yet" in done.out
    assert not corral.data.exists()


def test_a_place_that_cannot_be_made_is_said_to_be_one(corral: Corral) -> None:
    (corral.folder / "file").touch()

    done = corral.here("doctor", "--json", APP_DATA_DIR=str(corral.folder / "file" / "data"))

    wrong = next(check for check in done.json["checks"] if check["verdict"] == "wrong")
    assert (done.code, wrong["name"]) == (1, "data folder")
    assert wrong["found"].endswith("/file cannot be written to")


def test_a_key_that_others_may_read_is_found(corral: Corral) -> None:
    corral.create()
    key = corral.data / "vault.key"
    key.touch(0o600)
    assert corral.here("doctor").code == 0
    key.chmod(0o644)

    done = corral.here("doctor", "--json")

    [wrong] = [check for check in done.json["checks"] if check["verdict"] == "wrong"]
    assert (done.code, wrong["name"]) == (1, "vault")
    assert "chmod 600" in wrong["remedy"]


def test_a_broken_invariant_is_found_with_what_to_do(corral: Corral) -> None:
    corral.create()
    with sqlite3.connect(corral.data / "corral.db") as connection:
        connection.execute(
            "INSERT INTO events (run_id, seq, kind, meta, created_at) "
            "VALUES ('01a1de72-ef57-70cc-9efc-dbcdc746657c', 7, 'created', '{}', 0)"
        )
    connection.close()

    done = corral("doctor", "--json")

    assert done.code == 1
    [wrong] = [check for check in done.json["checks"] if check["verdict"] == "wrong"]
    assert wrong["name"] == "event numbers have no gap"
    assert wrong["remedy"]


def test_a_damaged_database_is_found_and_not_touched(corral: Corral) -> None:
    corral.data.mkdir()
    file = corral.data / "corral.db"
    file.write_bytes(b"this is not a database" * 100)

    done = corral.here("doctor")

    assert done.code == 1
    assert "✗" in done.out
    assert "is not a SQLite database" in done.out
    assert file.read_bytes() == b"this is not a database" * 100
    assert corral.here("job", "list").code == 78


def test_bad_settings_are_all_listed_with_their_values_masked(corral: Corral) -> None:
    settings = {
        "APP_WORKERS": "many",
        "APP_WROKERS": "2",
        "APP_WRITE_TOKEN": "short-secret",
        "APP_SHUTDOWN_GRACE_SECONDS": "-1",
    }

    up = corral("up", "--port", "0", **settings)
    doctor = corral.here("doctor", "--json", **settings)

    assert (up.code, up.out) == (78, "")
    assert up.err.count("corral: ") == up.err.count("  fix: ") == 4
    for name in settings:
        assert name in up.err
    assert "short-secret" not in up.err
    assert "did you mean APP_WORKERS?" in up.err
    assert not corral.data.exists()
    assert doctor.code == 78
    assert [check["verdict"] for check in doctor.json["checks"]] == ["wrong"] * 4


@pytest.mark.parametrize("uid, is_root", [(0, True), (1000, False)])
def test_root_and_a_browser_without_its_sandbox_are_warned_about(
    corral: Corral, monkeypatch: pytest.MonkeyPatch, uid: int, is_root: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)

    checks = {check["name"]: check for check in corral.here("doctor", "--json").json["checks"]}

    assert (checks["user"]["verdict"] == "warning") == is_root
    if "Chromium at" in checks["browser"]["found"]:
        assert (checks["browser"]["verdict"] == "warning") == is_root
        assert ("without its sandbox" in checks["browser"]["found"]) == is_root


def test_the_isolation_of_scripts_is_named(corral: Corral) -> None:
    checks = {check["name"]: check for check in corral.here("doctor", "--json").json["checks"]}
    assert "namespaces" in checks["scripts"]["found"]
    assert checks["scripts"]["verdict"] in ("ok", "warning")
