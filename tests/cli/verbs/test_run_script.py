"""`corral run-script`: a script now, without configuration."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests import forked
from tests.cli.command import Corral
from tests.scripts.builders import processes_of
from tests.slack import SLACK

SCRIPT = """
import json, os, sys
print("hello")
print(json.dumps({"season": sys.argv[2], "key": os.environ.get("OWN_KEY")}))
print("warned", file=sys.stderr)
"""
GOES_ON = """
import os, signal, sys, time
def end(*_):
    print("cleaned up", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print(os.environ["CORRAL_RUN_ID"], flush=True)
time.sleep(600)
"""


@pytest.fixture
def folder(corral: Corral) -> Path:
    """Outside of the data folder."""
    work = corral.folder
    (work / "scraper.py").write_text(SCRIPT)
    (work / "long.py").write_text(GOES_ON)
    return work


def test_output_passes_through_and_records_are_kept(corral: Corral, folder: Path) -> None:
    done = corral("run-script", "--env", "OWN_KEY", "--", "python3", "scraper.py", "--season", "2024-25", OWN_KEY="k1")
    assert done.code == 0, done.err
    assert done.out == 'hello\n{"season": "2024-25", "key": "k1"}\n'
    assert "warned\n" in done.err
    assert "completed: 1 record " in done.err
    shown = corral("run", "list", "--json").json
    assert [(run["kind"], run["status"]) for run in shown] == [("script", "completed")]
    events = corral("events", shown[0]["id"])
    assert "Run completed" in events.out


def test_json_has_the_run_and_its_records(corral: Corral, folder: Path) -> None:
    done = corral("run-script", "--json", "--name", "mine", "--", "./scraper.py", "--season", "x", OWN_KEY="not passed")
    assert done.code == 0, done.err
    assert done.json["records"] == [{"season": "x", "key": None}]
    assert done.json["run"]["stats"]["name"] == "mine"
    assert "hello" in done.err


@pytest.mark.parametrize(
    "arguments, code, told",
    [
        (("--", "sh", "-c", "exit 7"), 1, "the script exited with 7"),
        (("--", "sh", "-c", "echo '{broken'"), 3, "partial: bad_response (records)"),
        (("--timeout", "1", "--", "sleep", "60"), 1, "timeout (script): not done after 1 s"),
        (("--records", "file:out.csv", "--", "true"), 1, "the script did not write out.csv"),
    ],
)
def test_exit_codes(corral: Corral, arguments: tuple[str, ...], code: int, told: str) -> None:
    done = corral("run-script", *arguments)
    assert done.code == code, done.err
    assert told in done.err


@pytest.mark.parametrize(
    "arguments, told",
    [
        (("--", "no-such-program"), "there is no program"),
        (("--records", "s3://x", "--", "true"), "--records"),
        (("--env", "A=b", "--", "true"), "takes the name of a variable"),
        (("--env", "APP_TOKEN", "--", "true"), "is no variable that can be passed on"),
        (("--env", "NOT_SET_AT_ALL", "--", "true"), "is not set"),
        ((), "Missing argument"),
        (("--timeout", "0", "--", "true"), "timeout"),
    ],
)
def test_bad_arguments(corral: Corral, arguments: tuple[str, ...], told: str) -> None:
    done = corral.here("run-script", *arguments)
    assert (done.code, told in done.err) == (2, True), done.err
    assert not corral.data.exists()


def test_a_dry_run_starts_nothing(corral: Corral) -> None:
    done = corral.here("run-script", "--dry-run", "--", "touch", "made here")
    assert done.code == 0
    assert "would execute touch 'made here'" in done.out
    assert not (corral.folder / "made here").exists()
    assert not corral.data.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_script_cleanly(corral: Corral, folder: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [*forked.command(), "run-script", "--", "python3", "long.py"],
        cwd=folder,
        env=corral.environment({"APP_SHUTDOWN_GRACE_SECONDS": "10"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    run_id = process.stdout.readline().strip()
    assert processes_of(run_id)
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=30 * SLACK)
    assert process.returncode == 130, err
    assert out == "cleaned up\n"
    assert processes_of(run_id) == []
    assert corral("run", "show", run_id, "--json").json["status"] == "cancelled"


def test_a_killed_command_leaves_no_process(corral: Corral, folder: Path) -> None:
    process = subprocess.Popen(
        [*forked.command(), "run-script", "--", "sh", "-c", "setsid sleep 600 & echo $CORRAL_RUN_ID; wait"],
        cwd=folder,
        env=corral.environment({}),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    run_id = process.stdout.readline().strip()
    assert processes_of(run_id)
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 10 * SLACK
    while processes_of(run_id):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_running_node_does_not_take_the_script(corral: Corral, folder: Path) -> None:
    """It has neither the variables nor the terminal of the person."""
    server = subprocess.Popen(
        [*forked.command(), "worker", "--json"],
        cwd=folder,
        env=corral.environment({}),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert server.stdout is not None
        assert b"works" in server.stdout.readline()
        for number in range(5):
            command = ("run-script", "--env", "OWN_KEY", "--", "sh", "-c", "echo $OWN_KEY")
            done = corral(*command, OWN_KEY=f"k{number}")
            assert (done.code, done.out) == (0, f"k{number}\n"), done.err
    finally:
        server.terminate()
        server.communicate()
