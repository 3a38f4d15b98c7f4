"""Real processes: started in order, watched, started again, stopped in reverse, and only ever our own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from corral.domain.errors import BadConfiguration
from corral.supervisor import logs, plan
from corral.supervisor.plan import STOP_S, WELL, Adopts, Service, ServiceHealth, ServiceState
from corral.supervisor.records import MARKER, AlreadySupervised, ProcessRecord, ProcessRecords, start_time_of
from corral.supervisor.status import ServiceStatus, read_status
from corral.supervisor.supervisor import ServiceFailed, Supervisor
from tests.slack import SLACK
from tests.supervisor.programs import have_ended, journal, program, run_program, service, shell
from tests.waiting import block_until

NEVER_WELL = ServiceHealth(is_well=False, problem="not yet")
Supervising = Callable[..., Supervisor]


@pytest.fixture
def supervising(tmp_path: Path) -> Iterator[Supervising]:
    with contextlib.ExitStack() as stack:

        def make(*services: Service) -> Supervisor:
            supervisor = Supervisor(services, tmp_path)
            stack.callback(supervisor.close)
            return supervisor

        yield make


def status_of(supervisor: Supervisor, name: str) -> ServiceStatus:
    return next(each for each in supervisor.status() if each.name == name)


def test_services_start_in_order_and_stop_in_reverse(tmp_path: Path, supervising: Supervising) -> None:
    services = [service("api", tmp_path, "worker"), service("worker", tmp_path, "redis"), service("redis", tmp_path)]
    supervisor = supervising(*services)

    supervisor.want(["api"])
    supervisor.wait_up(["api"])
    assert {each.state for each in supervisor.status()} == {ServiceState.UP}
    seen = read_status(tmp_path / "run")
    supervisor.close()

    assert journal(tmp_path) == [
        *(f"start {name}" for name in ("redis", "worker", "api")),
        *(f"stop {name}" for name in ("api", "worker", "redis")),
    ]
    told = [(each.name, each.state) for each in supervisor.changes]
    assert [(name, state.value) for name, state in told if state in (ServiceState.UP, ServiceState.STOPPED)] == [
        *((name, "up") for name in ("redis", "worker", "api")),
        *((name, "stopped") for name in ("api", "worker", "redis")),
    ]
    assert seen is not None
    assert seen["pid"] == os.getpid()
    assert [(each["name"], each["state"], each["is_ours"]) for each in seen["services"]] == [
        *((name, "up", True) for name in ("redis", "worker", "api"))
    ]
    assert read_status(tmp_path / "run") is None, "nobody supervises any more"
    assert list((tmp_path / "run").glob("*.json")) == [tmp_path / "run" / "status.json"], (
        "records go with their process"
    )


def test_what_is_killed_is_started_again_after_a_pause(tmp_path: Path, supervising: Supervising) -> None:
    supervisor = supervising(service("worker", tmp_path))
    supervisor.want(["worker"])
    supervisor.wait_up(["worker"])
    first = status_of(supervisor, "worker")
    assert first.pid is not None

    (tmp_path / "worker").unlink()
    os.kill(first.pid, signal.SIGKILL)
    killed_at = time.monotonic()
    block_until(lambda: supervisor.state("worker") is ServiceState.RESTARTING)
    between = status_of(supervisor, "worker")
    assert (between.problem, between.pid) == ("it was ended by SIGKILL", None)
    assert between.next_start_s is not None
    supervisor.wait_up(["worker"])

    assert time.monotonic() - killed_at >= 1.0
    again = status_of(supervisor, "worker")
    assert (again.restarts, again.problem) == (1, None)
    assert again.pid != first.pid


def test_what_does_not_listen_is_killed_with_all_it_started(tmp_path: Path, supervising: Supervising) -> None:
    assert STOP_S == 5.0
    deaf = service("deaf", tmp_path, deaf=True, stop_s=0.4)
    supervisor = supervising(deaf)
    supervisor.want(["deaf"])
    supervisor.wait_up(["deaf"])
    pid = status_of(supervisor, "deaf").pid
    assert pid is not None

    began = time.monotonic()
    supervisor.stop()
    assert 0.4 <= time.monotonic() - began < 0.4 + 2 * SLACK
    assert not psutil.pid_exists(pid)
    assert journal(tmp_path) == ["start deaf", "stop deaf"], "it was asked first"


def test_a_second_signal_does_not_wait(tmp_path: Path, supervising: Supervising) -> None:
    supervisor = supervising(service("deaf", tmp_path, deaf=True, stop_s=60.0))
    supervisor.want(["deaf"])
    supervisor.wait_up(["deaf"])
    supervisor.stop_now.set()
    began = time.monotonic()
    supervisor.stop()
    assert time.monotonic() - began < 5 * SLACK


def test_what_ends_leaves_no_children_behind(tmp_path: Path, supervising: Supervising) -> None:
    """It ends by itself, and what it started ignores everything."""
    text = f"(trap '' TERM HUP INT; echo $$ > {tmp_path}/grandchild; while :; do sleep 60; done) & sleep 0.3; exit 1"
    supervisor = supervising(Service("parent", lambda _: NEVER_WELL, command=shell(text), adopts=Adopts.NEVER))
    supervisor.want(["parent"])
    block_until(lambda: supervisor.state("parent") is ServiceState.RESTARTING)
    supervisor.stop()
    block_until(
        lambda: not [each for each in psutil.process_iter(["cmdline"]) if str(tmp_path) in str(each.info["cmdline"])]
    )


def test_what_was_never_well_is_given_up_with_its_last_words(tmp_path: Path, supervising: Supervising) -> None:
    command = shell("echo no such thing >&2; exit 78")
    supervisor = supervising(Service("api", lambda _: NEVER_WELL, command=command, adopts=Adopts.NEVER))
    supervisor.want(["api"])
    with pytest.raises(BadConfiguration, match=r"api: it ended with exit code 78; last output: no such thing; see "):
        supervisor.wait_up(["api"])


def test_what_is_not_well_in_time_is_stopped(tmp_path: Path, supervising: Supervising) -> None:
    slow = Service("slow", lambda _: NEVER_WELL, command=program("slow", tmp_path), adopts=Adopts.NEVER, start_s=0.3)
    supervisor = supervising(slow)
    supervisor.want(["slow"])
    with pytest.raises(ServiceFailed, match=r"slow: .*not healthy"):
        supervisor.wait_up(["slow"])
    assert status_of(supervisor, "slow").pid is None


def test_what_runs_already_is_used_and_never_stopped(tmp_path: Path, supervising: Supervising) -> None:
    with run_program(*program("redis", tmp_path)) as others:
        block_until((tmp_path / "redis").exists)
        supervisor = supervising(service("redis", tmp_path, adopts=Adopts.ALWAYS), service("worker", tmp_path, "redis"))
        supervisor.want(["worker"])
        supervisor.wait_up(["worker"])
        adopted = status_of(supervisor, "redis")
        supervisor.close()
        assert (adopted.is_ours, adopted.pid, adopted.log, adopted.restarts) == (False, None, None, 0)
        assert others.poll() is None
        assert journal(tmp_path) == ["start redis", "start worker", "stop worker"]


def test_what_somebody_else_ran_and_stays_away_is_replaced(
    tmp_path: Path, supervising: Supervising, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_MISSED_AFTER_S", 0.3)
    supervisor = supervising(service("redis", tmp_path, adopts=Adopts.ALWAYS))
    with run_program(*program("redis", tmp_path)):
        block_until((tmp_path / "redis").exists)
        supervisor.want(["redis"])
        supervisor.wait_up(["redis"])
    (tmp_path / "redis").unlink()
    block_until(lambda: supervisor.state("redis") is ServiceState.DOWN, 10)
    block_until(lambda: status_of(supervisor, "redis").is_ours and supervisor.state("redis") is ServiceState.UP, 10)
    assert journal(tmp_path) == ["start redis", "start redis"]


def test_what_cannot_be_started_at_all_is_said(
    tmp_path: Path, supervising: Supervising, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "FIRST_TRIES", 1)
    missing = Service("missing", lambda _: NEVER_WELL, command=("/no/such/program",), adopts=Adopts.NEVER)
    unheard = Service("unheard", lambda _: NEVER_WELL, command=("true",), adopts=Adopts.NEVER)
    (tmp_path / "log").mkdir()
    (tmp_path / "log/unheard.log").mkdir()  # nothing can be written there
    supervisor = supervising(missing, unheard)
    supervisor.want(["missing", "unheard"])
    with pytest.raises(ServiceFailed, match=r"exit code 127; last output: /no/such/program cannot"):
        supervisor.wait_up(["missing"])
    with pytest.raises(ServiceFailed, match="unheard: it cannot be started: Is a directory"):
        supervisor.wait_up(["unheard"])


def test_nothing_is_started_in_the_place_of_what_refuses_us(tmp_path: Path, supervising: Supervising) -> None:
    refuses = ServiceHealth(is_well=False, problem="it asks for a password", hopeless=True)
    supervisor = supervising(Service("redis", lambda _: refuses, command=program("redis", tmp_path)))
    supervisor.want(["redis"])
    with pytest.raises(ServiceFailed, match="redis: it asks for a password"):
        supervisor.wait_up(["redis"])
    assert journal(tmp_path) == []


def test_a_check_that_breaks_is_a_service_that_is_not_well(tmp_path: Path, supervising: Supervising) -> None:
    def broken(_: int | None) -> ServiceHealth:
        raise ZeroDivisionError

    supervisor = supervising(Service("odd", broken, adopts=Adopts.FIRST))
    supervisor.want(["odd"])
    with pytest.raises(ServiceFailed, match="the check failed"):
        supervisor.wait_up(["odd"])


def test_two_supervisors_do_not_share_a_folder(tmp_path: Path, supervising: Supervising) -> None:
    first, second = supervising(service("a", tmp_path)), supervising(service("b", tmp_path))
    first.claim()
    with pytest.raises(AlreadySupervised, match=f"process {os.getpid()}"):
        second.claim()
    second.want(["b"])
    with pytest.raises(ServiceFailed, match="another supervisor"):
        second.wait_up(["b"])
    assert journal(tmp_path) == []
    first.close()
    second.claim()


_SUPERVISES = """
import sys, time
from pathlib import Path
from corral.supervisor.supervisor import Supervisor
from tests.supervisor.programs import service, shell
from corral.supervisor.plan import Adopts, Service, WELL
folder = Path(sys.argv[1])
text = f"trap '' TERM; (trap '' TERM HUP; echo $$ > {folder}/grandchild; while :; do sleep 60; done) & wait"
parent = Service("parent", lambda _: WELL, command=shell(text), adopts=Adopts.NEVER)
supervisor = Supervisor([service("child", folder), parent], folder)
supervisor.want(["child", "parent"])
supervisor.wait_up(["child", "parent"])
while not (folder / "grandchild").exists():
    time.sleep(0.01)
print("up", flush=True)
time.sleep(60)
"""


def test_a_killed_supervisor_takes_everything_with_it(tmp_path: Path) -> None:
    """Children, which the kernel tells, and their children, which nobody does."""
    with run_program(sys.executable, "-c", _SUPERVISES, str(tmp_path), stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"up\n"
        family = psutil.Process(supervisor.pid).children(recursive=True)
        assert len(family) >= 4  # the child, the parent, the grandchild (and its sleep), the reaper
        supervisor.kill()
        block_until(lambda: have_ended(family), 1.0)


def test_a_killed_reaper_is_replaced(tmp_path: Path, supervising: Supervising) -> None:
    supervisor = supervising(service("child", tmp_path))
    supervisor.want(["child"])
    supervisor.wait_up(["child"])

    def reapers() -> list[psutil.Process]:
        living = [each for each in psutil.Process().children() if each.status() != psutil.STATUS_ZOMBIE]
        return [each for each in living if each.cmdline()[-1].endswith("reaper.py")]

    [first] = reapers()
    first.kill()
    block_until(lambda: [each.pid for each in reapers()] not in ([], [first.pid]))


# -- records -------------------------------------------------------------------------------------------


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A harmless process, marked as ours are."""
    environment = {**os.environ, MARKER: "the-marker"}
    with run_program(*shell("exec sleep 60"), env=environment, start_new_session=True) as process:
        block_until(lambda: MARKER in Path(f"/proc/{process.pid}/environ").read_text())
        yield process


def write_leftover(folder: Path, record: ProcessRecord) -> None:
    ProcessRecords(folder).write(record)
    records = ProcessRecords(folder)
    records.claim()
    records.leave()
    assert list(folder.glob("*.json")) == []


def test_a_leftover_is_ended_by_its_record(tmp_path: Path, stranger: "subprocess.Popen[bytes]") -> None:
    started = start_time_of(stranger.pid)
    assert started is not None
    write_leftover(tmp_path, ProcessRecord("worker", stranger.pid, started, "the-marker"))
    assert stranger.wait(5 * SLACK) == -signal.SIGTERM


@pytest.mark.parametrize("wrong", ["started", "marker"])
def test_a_number_that_is_somebody_elses_by_now_is_not_touched(
    tmp_path: Path, stranger: "subprocess.Popen[bytes]", wrong: str
) -> None:
    started = start_time_of(stranger.pid)
    assert started is not None
    forged = (started + 1, "the-marker") if wrong == "started" else (started, "another-marker")
    write_leftover(tmp_path, ProcessRecord("worker", stranger.pid, *forged))
    time.sleep(0.2)
    assert stranger.poll() is None


def test_a_record_that_cannot_be_read_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "worker.json").write_text('{"pid": 1')
    (tmp_path / "api.json").write_text(json.dumps({"name": "api", "pid": 1, "started": 0, "marker": ""}))
    records = ProcessRecords(tmp_path)
    records.claim()
    records.leave()
    assert list(tmp_path.glob("*.json")) == []


def test_a_process_is_on_record_before_it_does_anything(tmp_path: Path, supervising: Supervising) -> None:
    command = shell(f"cp {tmp_path}/run/early.json {tmp_path}/found; echo $CORRAL_SUPERVISED; exec sleep 60")
    found = tmp_path / "found"
    supervisor = supervising(
        Service("early", lambda _: WELL if found.exists() else NEVER_WELL, command=command, adopts=Adopts.NEVER)
    )
    supervisor.want(["early"])
    supervisor.wait_up(["early"])
    told = json.loads(found.read_text())
    pid = status_of(supervisor, "early").pid
    assert pid is not None
    assert (told["pid"], told["started"]) == (pid, start_time_of(pid))
    assert told["marker"] in (tmp_path / "log/early.log").read_text()
    assert oct((tmp_path / "run/early.json").stat().st_mode & 0o777) == "0o600"


# -- log files -----------------------------------------------------------------------------------------


def test_what_a_service_says_is_in_its_log_file(tmp_path: Path, supervising: Supervising) -> None:
    path = tmp_path / "log/worker.log"
    path.parent.mkdir()
    path.write_text("from before\n")
    path.chmod(0o600)
    supervisor = supervising(service("worker", tmp_path), service("other", tmp_path))
    supervisor.want(["worker", "other"])
    supervisor.wait_up(["worker", "other"])
    assert path.read_text() == "from before\nworker says hello\n"
    assert oct((tmp_path / "log/other.log").stat().st_mode & 0o777) == "0o600"


def test_the_log_of_a_service_is_cut_before_and_while_it_runs(tmp_path: Path, supervising: Supervising) -> None:
    path = tmp_path / "log/worker.log"
    path.parent.mkdir()
    path.touch()
    os.truncate(path, logs.MAX_BYTES + 1)
    supervisor = supervising(service("worker", tmp_path))
    supervisor.want(["worker"])
    supervisor.wait_up(["worker"])
    assert path.read_text() == "worker says hello\n"
    assert (tmp_path / "log/worker.log.1").stat().st_size == logs.MAX_BYTES + 1
    os.truncate(path, logs.MAX_BYTES + 2)
    block_until(lambda: path.stat().st_size == 0, 10)
    assert (tmp_path / "log/worker.log.1").stat().st_size == logs.MAX_BYTES + 2


def test_log_files_are_bounded_and_their_writers_go_on(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    writer = logs.open_log(path)
    for number in range(5):
        os.write(writer, f"{number}".encode() * 100)
        assert logs.rotate(path, max_bytes=99)
        assert not logs.rotate(path, max_bytes=99)
    os.write(writer, b"at last")
    os.close(writer)
    assert path.read_bytes() == b"at last"
    kept = [(tmp_path / f"worker.log.{number}").read_text()[:1] for number in (1, 2, 3)]
    assert kept == ["4", "3", "2"]
    assert len(list(tmp_path.iterdir())) == 4
    assert logs.tail(path) == ["at last"]
