"""A fork is to the test what a started process is."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from corral.domain.runs.run import RunState
from tests import forked
from tests.engine.builders import drill, node_of, put, run_node, settings_for, wait_for_runs
from tests.forked.process import start_process
from tests.slack import SLACK
from tests.waiting import until

_REAL = (sys.executable, "-m", "corral")


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "APP_DATA_DIR": str(folder / "data"), "TERM": "dumb", "TZ": "Asia/Tokyo"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("run", "list", "--json"),
        ("run", "show", "nonsense"),
        pytest.param(("nonsense",), marks=pytest.mark.long),
        pytest.param(("job", "list"), marks=pytest.mark.long),
    ],
)
def test_it_says_and_ends_as_a_process_that_was_started(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    told = [
        subprocess.run(
            [*command, *arguments],
            cwd=tmp_path / "here",
            env=_environment(tmp_path),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        for command in (forked.command(), _REAL)
    ]
    fork, process = ((each.returncode, each.stdout, each.stderr) for each in told)
    assert fork == process


_PROGRAM = """
import os, signal, sys
old = os.umask(0)
print(__name__, sys.argv, sys.path[0], oct(old), __file__ if "__file__" in globals() else None, flush=True)
if sys.argv[1:] == ["interrupt"]:
    signal.raise_signal(signal.SIGINT)
sys.exit("the end")
"""


@pytest.mark.parametrize("argument", ["end", "interrupt"])
@pytest.mark.parametrize("is_file", [False, True])
def test_a_program_runs_as_a_process_that_was_started(tmp_path: Path, is_file: bool, argument: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(_PROGRAM)
    program = (str(path), argument) if is_file else ("-c", _PROGRAM, argument)
    fork, process = (
        subprocess.run(
            [*command, *program[1:]],
            cwd=tmp_path,
            env=_environment(tmp_path),
            capture_output=True,
            text=True,
            umask=0o27,
        )
        for command in (forked.command(program[0]), forked.real_command(program[0]))
    )
    assert (fork.returncode, fork.stdout.replace(f" {tmp_path} ", "  ")) == (
        process.returncode,
        process.stdout.replace(f" {tmp_path} ", "  "),
    )
    assert fork.stderr.splitlines()[-1:] == process.stderr.splitlines()[-1:]
    assert fork.returncode == (1 if argument == "end" else -signal.SIGINT)


def _serve(folder: Path) -> tuple["subprocess.Popen[str]", psutil.Process]:
    """What passes signals on, and the fork."""
    process = subprocess.Popen(
        [*forked.command(), "serve", "--port", "0", "--json"],
        cwd=folder,
        env=_environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, psutil.Process(json.loads(process.stdout.readline())["pid"])


def test_a_signal_reaches_it(tmp_path: Path) -> None:
    process, fork = _serve(tmp_path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20 * SLACK) == 0
    assert not fork.is_running()
    process.communicate()


def test_it_does_not_outlive_who_asked_for_it(tmp_path: Path) -> None:
    process, fork = _serve(tmp_path)
    process.kill()
    process.communicate()
    gone, _ = psutil.wait_procs([fork], timeout=20 * SLACK)
    assert gone


def test_its_death_is_told(tmp_path: Path) -> None:
    process, fork = _serve(tmp_path)
    fork.kill()
    process.communicate(timeout=20 * SLACK)
    assert process.returncode == -signal.SIGKILL


def test_tests_that_look_at_the_process_have_the_fork_itself(tmp_path: Path) -> None:
    arguments = ["serve", "--port", "0", "--json"]
    with (tmp_path / "log").open("wb") as log:
        process = start_process(arguments, env=_environment(tmp_path), cwd=tmp_path, stderr=log)
    assert process.stdout is not None
    with process.stdout as told:
        assert json.loads(told.readline())["pid"] == process.pid
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    process.kill()
    assert process.wait(20 * SLACK) == process.poll() == process.returncode == -signal.SIGKILL
    process.send_signal(signal.SIGTERM)  # to nobody


@pytest.mark.usefixtures("forked_workers")
async def test_a_node_may_have_forks_for_workers(tmp_path: Path) -> None:
    async with run_node(settings_for(tmp_path)) as app:
        [run] = await wait_for_runs(app, await put(app, drill(record=True)))
        assert run.state is RunState.COMPLETED
        [worker] = node_of(app).worker_pids
        assert "client.py" in " ".join(psutil.Process(worker).cmdline())
        os.kill(worker, signal.SIGKILL)
        await until(lambda: node_of(app).worker_pids not in ([], [worker]))
