"""Output that cannot be written, and input that cannot be read: one clear line, the right exit code, no traceback."""

import contextlib
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import forked
from tests.cli.command import Corral
from tests.slack import SLACK

COMMAND = f"{shlex.quote(sys.executable)} -m corral"
LOST = "corral: cannot write to standard output: No space left on device"


def shell(corral: Corral, line: str, **settings: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("corral", COMMAND, 1)],
        cwd=corral.folder,
        env=corral.environment(settings),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    return done


@pytest.mark.long
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("verb", ["--help", "run list --json", "scrape http://example.com --fields a --dry-run"])
def test_a_full_disk_behind_the_output_is_said(corral: Corral, verb: str, unbuffered: str) -> None:
    done = shell(corral, f"corral {verb} > /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, LOST)


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_reader_who_has_left_is_no_reason_to_complain(corral: Corral, unbuffered: str) -> None:
    done = shell(corral, "corral doctor | true", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.long
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_streams_the_caller_has_closed_change_nothing(corral: Corral, closed: str) -> None:
    assert shell(corral, f"corral run list {closed}").returncode == 0
    assert shell(corral, f"corral run show nonsense {closed}").returncode == 2


@pytest.mark.long
def test_what_is_printed_never_lands_in_the_database(corral: Corral) -> None:
    """A file opened while standard output is closed would get its number, and the output with it."""
    assert shell(corral, "corral run cancel 01a1de72-ef57-70cc-9efc-dbcdc746657c >&- 2>&-").returncode == 1
    assert shell(corral, "corral doctor").returncode == 0
    for name in ("corral.db-lock", "corral.db-ballast"):
        assert not (corral.data / name).read_bytes().strip(b"\0")


def test_complaints_that_cannot_be_written_do_not_change_the_exit_code(corral: Corral) -> None:
    assert shell(corral, "corral run show nonsense 2> /dev/full").returncode == 2


def test_a_dotenv_in_another_encoding_is_bad_configuration(corral: Corral) -> None:
    (corral.folder / ".env").write_bytes(b"APP_WORKERS=2\n# caf\xe9\n")
    done = corral.here("run", "list")
    assert done.code == 78
    assert ".env is not UTF-8 text (line 2)" in done.err


def test_every_line_of_ours_in_a_dotenv_is_checked(corral: Corral) -> None:
    lines = ["export APP_WROKERS=2", "APP_LOG_LEVEL debug", "app_greace_seconds=1", "APP_WORKERS", "OTHERS may say so"]
    (corral.folder / ".env").write_text("\n".join(lines))
    done = corral.here("run", "list")
    assert done.code == 78
    assert done.err.count("corral: ") == 4
    for told in ("APP_WROKERS (in .env)", "app_greace_seconds (in .env)", ".env, line 2,", ".env, line 4,"):
        assert told in done.err


def test_an_exported_setting_is_taken(corral: Corral) -> None:
    elsewhere = corral.folder / "elsewhere"
    (corral.folder / ".env").write_text(f"export APP_DATA_DIR={elsewhere}\nOTHERS may say so\n")
    environment = {name: value for name, value in corral.environment({}).items() if name != "APP_DATA_DIR"}
    command = [*forked.command(), "doctor"]
    done = subprocess.run(command, cwd=corral.folder, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert str(elsewhere) in done.stdout


@contextlib.contextmanager
def in_the_background(is_there: bool) -> Iterator[None]:
    """As a shell starts what ends with `&`: deaf to Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_there else signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("in_background", [False, True])
def test_ctrl_c_ends_with_130_and_without_a_traceback(
    corral: Corral,
    site: str,
    started: Callable[..., subprocess.Popen[str]],
    started_forks: Callable[..., subprocess.Popen[str]],
    in_background: bool,
) -> None:
    job = corral.here("job", "add", f"{site}/articles", "--fields", "title", APP_EGRESS_ALLOW="127.0.0.0/8:*")
    run = corral.here("run", "start", job.out.strip(), "--strategy", "http").out.strip()
    with in_the_background(in_background):
        # How a fork handles signals does not depend on its parent.
        following = (started if in_background else started_forks)(corral, "events", "-f", run)
    assert following.stdout is not None
    assert "Run created" in following.stdout.readline()
    time.sleep(0.3)
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=20 * SLACK)
    assert (following.returncode, err) == (130, "")


@pytest.mark.parametrize("link", ["absolute", "relative", "dangling"])
def test_a_link_is_written_through_and_stays(shared: Corral, site: str, tmp_path: Path, link: str) -> None:
    place = tmp_path / "elsewhere" / "records.json"
    place.parent.mkdir()
    if link != "dangling":
        place.write_text("old")
    given = tmp_path / "link.json"
    given.symlink_to(place if link != "relative" else Path("elsewhere/records.json"))
    done = shared.here("scrape", f"{site}/articles", "--fields", "title", "--strategy", "http", "-o", str(given))
    assert done.code == 0, done.err
    assert given.is_symlink()
    assert "Articles" in place.read_text()
    assert {file.name for file in place.parent.iterdir()} == {"records.json"}


@pytest.mark.parametrize("target", ["loop.json", "/dev/full", "no-such-folder/records.json", "/etc"])
def test_a_link_that_leads_to_no_file_is_refused_before_anything_is_fetched(corral: Corral, target: str) -> None:
    given = corral.folder / "loop.json"
    given.symlink_to(target)
    done = corral.here("scrape", "http://127.0.0.1:9/", "--fields", "title", "-o", str(given))
    assert done.code == 2
    assert given.is_symlink()
    assert not corral.data.exists()
