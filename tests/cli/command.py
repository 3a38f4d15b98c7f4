"""The command line as a person has it: processes with a data folder of their own."""

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import psutil
import pytest

from corral.cli.main import main
from tests import forked
from tests.chaos.level import by_level
from tests.services.sqlite import migrate
from tests.slack import SLACK

_COMMAND = (sys.executable, "-m", "corral")


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Corral:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"

    def environment(self, settings: dict[str, str]) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("APP_")}
        ours = {
            "APP_DATA_DIR": str(self.data),
            "APP_RETRY_BASE_SECONDS": "0.05",
            "APP_SHUTDOWN_GRACE_SECONDS": "1",
            "APP_WORKERS": "1",
            "APP_BREAKER_FAILURES": "10000",
            "APP_HOST_MAX_DELAY_SECONDS": "0",
            forked.WORKERS: forked.python(),
        }
        return {**inherited, "TERM": "dumb", **ours, **settings}

    def create(self) -> None:
        """The database, as the first start makes it."""
        migrate(self.data / "corral.db")

    def __call__(self, *arguments: str, **settings: str) -> Answer:
        done = subprocess.run(
            [*forked.command(), *arguments],
            cwd=self.folder,
            env=self.environment(settings),
            capture_output=True,
            text=True,
            timeout=by_level(60 * SLACK, 300),
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Answer(done.returncode, done.stdout, done.stderr)

    def here(self, *arguments: str, **settings: str) -> Answer:
        """The same within this process, without the second it takes to start one. Its workers are forks, too."""
        out, err = io.StringIO(), io.StringIO()
        with (
            mock.patch.dict(os.environ, self.environment(settings), clear=True),
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(sys, "argv", ["corral", *arguments]),
            mock.patch.object(sys, "executable", forked.python()),
            pytest.raises(SystemExit) as ended,
        ):
            main()
        return Answer(int(ended.value.code or 0), out.getvalue(), err.getvalue())

    def start(self, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        """A process of its own, for tests that look at it and at what it starts."""
        return self._launch(_COMMAND, arguments, settings)

    def start_fork(self, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        """A fork behind a process that passes signals on, for tests of what the command does."""
        return self._launch(forked.command(), arguments, settings)

    def _launch(
        self, command: tuple[str, ...], arguments: tuple[str, ...], settings: dict[str, str]
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command, *arguments],
            cwd=self.folder,
            env=self.environment(settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def descendants(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return list(psutil.Process(process.pid).children(recursive=True))


def all_gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=2)
    return not alive


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """Read what a command prints until a line holds the text."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if text in line:
            return line
    raise AssertionError(f"{text!r} was never printed:\n{''.join(seen)}")
