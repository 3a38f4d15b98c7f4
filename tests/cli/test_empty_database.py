"""A database file of no bytes is refused where it was an installation, and said where it may be a new one."""

import pytest

from tests.cli.command import Corral


@pytest.mark.parametrize("verb", [("job", "list"), ("job", "add", "http://example.com/", "--fields", "title")])
@pytest.mark.parametrize("sign", ["vault.key", "corral.db-wal", "artifacts/page.html", "corral.db-ballast"])
def test_an_emptied_database_is_refused(corral: Corral, sign: str, verb: tuple[str, ...]) -> None:
    beside = corral.data / sign
    beside.parent.mkdir(parents=True)
    beside.write_text("x")
    database = corral.data / "corral.db"
    database.touch()
    done = corral.here(*verb)
    assert (done.code, done.out) == (78, "")
    assert f"{database} is empty (0 bytes)" in done.err
    assert sign.partition("/")[0] in done.err
    assert "restore" in done.err
    assert (database.stat().st_size, beside.read_text()) == (0, "x")


def test_an_empty_file_alone_is_a_new_installation_and_is_said(corral: Corral, site: str) -> None:
    corral.data.mkdir(parents=True)
    (corral.data / "corral.db").touch()
    (corral.data / "corral.db-lock").touch()  # as a first start leaves it that was killed
    done = corral("job", "add", f"{site}/articles", "--fields", "title", APP_EGRESS_ALLOW="127.0.0.0/8:*")
    assert done.code == 0, done
    assert "database_empty" in done.err
    assert (corral.data / "corral.db").stat().st_size > 0
