"""Services that do not need each other stop together; at the start, one may have a head start over others."""

import sys
from dataclasses import replace
from pathlib import Path

from corral.supervisor.plan import ServiceHealth
from corral.supervisor.supervisor import Supervisor
from tests.supervisor.programs import journal, service

# Ends at TERM only when all of its siblings have got theirs, too; says so in a journal.
_TOGETHER = """
import os, signal, sys, time
name, folder, siblings = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
def end(*_):
    open(f"{folder}/{name}.told", "w").close()
    while not all(os.path.exists(f"{folder}/{each}.told") for each in siblings):
        time.sleep(0.01)
    with open(folder + "/journal", "a") as journal:
        journal.write("end " + name + "\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
open(folder + "/" + name, "w").close()
while True:
    time.sleep(60)
"""


def test_what_does_not_need_each_other_stops_together(tmp_path: Path) -> None:
    """One after the other, each of these would wait for the next until it is killed, and never say that it ended."""
    names = ["api", "worker-1", "worker-2", "worker-3"]
    together = [
        replace(
            service(name, tmp_path, "redis"),
            command=(sys.executable, "-I", "-S", "-c", _TOGETHER, name, str(tmp_path), ",".join(names)),
        )
        for name in names
    ]
    supervisor = Supervisor([service("redis", tmp_path), *together], tmp_path)
    try:
        supervisor.want(names)
        supervisor.wait_up(names)
    finally:
        supervisor.close()
    said = journal(tmp_path)
    assert sorted(said[1:-1]) == sorted(f"end {name}" for name in names)
    assert (said[0], said[-1]) == ("start redis", "stop redis"), "what they need goes last"


def test_a_head_start_is_for_a_while_and_no_need(tmp_path: Path) -> None:
    api, worker = service("api", tmp_path), replace(service("worker", tmp_path), after=("api",))
    supervisor = Supervisor([worker, api], tmp_path)
    try:
        supervisor.want(["worker", "api"])
        supervisor.wait_up(["worker", "api"])
    finally:
        supervisor.close()
    assert journal(tmp_path)[:2] == ["start api", "start worker"]

    never = replace(service("never", tmp_path), check=lambda _: ServiceHealth(is_well=False, problem="not yet"))
    supervisor = Supervisor([replace(service("worker", tmp_path), after=("never",)), never], tmp_path)
    try:
        supervisor.want(["worker", "never"])
        supervisor.wait_up(["worker"])
    finally:
        supervisor.close()
