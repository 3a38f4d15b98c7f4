"""Small real programs to look after, and what they leave to be looked at."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from corral.supervisor.plan import WELL, Adopts, Service, ServiceHealth

# Says in a journal when it begins and ends; is ready once its file is there.
_PROGRAM = """
import os, signal, sys, time
name, folder, deaf = sys.argv[1], sys.argv[2], sys.argv[3] == "deaf"
def write(what):
    with open(folder + "/journal", "a") as journal:
        journal.write(what + " " + name + "\\n")
def end(*_):
    write("stop")
    if not deaf:
        os.unlink(folder + "/" + name)
        sys.exit(0)
signal.signal(signal.SIGTERM, end)
write("start")
print(name, "says hello", flush=True)
open(folder + "/" + name, "w").write(str(os.getpid()))
while True:
    time.sleep(60)
"""


def program(name: str, folder: Path, *, deaf: bool = False) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", _PROGRAM, name, str(folder), "deaf" if deaf else "listens")


def shell(text: str) -> tuple[str, ...]:
    return ("sh", "-c", text)


def service(
    name: str, folder: Path, *needs: str, deaf: bool = False, adopts: Adopts = Adopts.NEVER, stop_s: float = 5.0
) -> Service:
    def check(_: int | None) -> ServiceHealth:
        return WELL if (folder / name).exists() else ServiceHealth(is_well=False, problem="its file is missing")

    return Service(name, check, needs, program(name, folder, deaf=deaf), adopts=adopts, stop_s=stop_s)


@contextmanager
def run_program(*command: str, **more: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that does not outlive a test that fails."""
    with subprocess.Popen(command, **more) as process:
        try:
            yield process
        finally:
            process.kill()


def journal(folder: Path) -> list[str]:
    path = folder / "journal"
    return path.read_text().splitlines() if path.exists() else []


def have_ended(processes: list[psutil.Process]) -> bool:
    """What is left of one until somebody takes note of its end does nothing any more."""
    for each in processes:
        try:
            if each.is_running() and each.status() != psutil.STATUS_ZOMBIE:
                return False
        except psutil.NoSuchProcess:
            continue
    return True
