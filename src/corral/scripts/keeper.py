"""The keeper of one script: starts it, watches its limits, and ends everything that it started.

A keeper is a fork of the script host. In namespaces of its own it is the first process: when it ends, the kernel ends
all others. Without namespaces it adopts orphans and ends them one by one.
"""

import contextlib
import errno
import fcntl
import json
import os
import resource
import select
import signal
import stat
import time
from typing import Any, NamedTuple

from corral.scripts import kernel
from corral.scripts.processes import ProcessTree, count_processes_of_user
from corral.scripts.request import (
    LEFTOVER_GRACE_S,
    RESULT_FD,
    STOP_GRACE_S,
    STOP_INTERRUPTED,
    STOP_KILLED,
    STOP_OUTPUT,
    STOP_RECORDS,
    StartRequest,
)

_COMMANDS = {STOP_OUTPUT: "output", STOP_RECORDS: "records"}  # all others cancel
_FIRST_SIGNAL = {STOP_INTERRUPTED: signal.SIGINT, STOP_KILLED: signal.SIGKILL}
_KILL_AT_ONCE = ("memory", "processes")
_WATCH_EARLY_S = 0.02
_WATCH_S = 0.1
_EARLY_S = 1.0
_MIB = 2**20
_MAX_FILES = 65536
_CANNOT_START = 127


class KeeperFds(NamedTuple):
    stdout: int
    stderr: int
    result: int
    control: int
    report: int
    records: int


class Keeper:
    def __init__(self, request: StartRequest, fds: KeeperFds, *, isolation: str, owns_proc: bool) -> None:
        self._request = request
        self._fds = fds
        self._isolation = isolation
        self._tree = ProcessTree(owns_proc=owns_proc)
        self._began = time.monotonic()
        self._script = 0
        self._status: int | None = None
        self._stopped_for: str | None = None
        self._kill_at: float | None = None
        self._peak_processes = 1
        self._peak_mib = 0.0

    def run(self) -> None:
        """Start the script, stay until all its processes have ended, and send the report."""
        problem = self._start()
        for descriptor in (self._fds.stdout, self._fds.stderr, self._fds.result):
            os.close(descriptor)
        leftovers = 0
        if problem is None:
            self._watch()
            leftovers = self._end_leftovers()
        else:
            self._reap(block=True)
        records_error = self._copy_records() if problem is None else None
        self._report(problem, leftovers, records_error)

    # -- start -------------------------------------------------------------------------------------

    def _start(self) -> tuple[str, str] | None:
        """Return why the script could not be started, or None."""
        error_read, low = os.pipe2(os.O_CLOEXEC)
        # Move it above the descriptors that the script gets.
        error_write = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, RESULT_FD + 1)
        os.close(low)
        self._script = os.fork()
        if self._script == 0:
            self._become_script(error_write)
        os.close(error_write)
        answer = os.read(error_read, 4096)
        os.close(error_read)
        if not answer:
            return None
        kind, _, message = answer.decode("utf-8", "replace").partition("\n")
        return kind, message

    def _become_script(self, error_fd: int) -> None:
        kind = "limits"
        try:
            os.setsid()
            self._limit()
            kind = "cwd"
            os.chdir(self._request.cwd or "/")
            kind = "not_runnable"
            self._arrange_descriptors(error_fd)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execvpe(self._request.argv[0], self._request.argv, self._request.env)
        except BaseException as error:  # noqa: BLE001 - a fork must never return into the code of its parent
            if isinstance(error, FileNotFoundError) and kind == "not_runnable":
                kind = "missing"
            subject = self._request.cwd if kind == "cwd" else self._request.argv[0]
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            os.write(error_fd, f"{kind}\n{subject}: {why}"[:4000].encode("utf-8", "replace"))
        finally:
            os._exit(_CANNOT_START)

    def _limit(self) -> None:
        request = self._request
        kernel.limit_resources(
            {
                "CORE": 0,
                "NOFILE": _MAX_FILES,
                "FSIZE": request.file_mib * _MIB,
                "CPU": request.cpu_s,
                # Above the limit that the watch enforces: this stops growth that is too fast for it.
                "DATA": 4 * max(request.memory_mib, 1024) * _MIB,
                "NPROC": None if os.getuid() == 0 else count_processes_of_user() + 4 * request.processes,
            }
        )

    def _arrange_descriptors(self, error_fd: int) -> None:
        """Give the script the descriptors 0 to 3, and close all others except the one for errors."""
        null = os.open(os.devnull, os.O_RDONLY)
        descriptors = {0: null, 1: self._fds.stdout, 2: self._fds.stderr, RESULT_FD: self._fds.result}
        for number, source in descriptors.items():
            os.dup2(source, number, inheritable=True)
        for number in range(RESULT_FD + 1, max(error_fd, null, *self._fds) + 1):
            if number != error_fd:
                try:
                    os.close(number)
                except OSError as error:
                    if error.errno != errno.EBADF:
                        raise

    # -- watch -------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Watch the limits until the script itself has ended."""
        pidfd = os.pidfd_open(self._script)
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        poll.register(self._fds.control, select.POLLIN)
        while self._status is None:
            events = dict(poll.poll(self._pause_s() * 1000))
            if self._fds.control in events:
                self._handle_command()
            self._reap()
            if self._status is None:
                self._check_limits()
        os.close(pidfd)

    def _pause_s(self) -> float:
        now = time.monotonic()
        pause_s = _WATCH_EARLY_S if now - self._began < _EARLY_S else _WATCH_S
        ends = self._began + self._request.timeout_s if self._kill_at is None else self._kill_at
        return max(0.001, min(pause_s, ends - now))

    def _handle_command(self) -> None:
        command = os.read(self._fds.control, 1)
        if not command:  # the worker has ended: a report would have no reader
            self._tree.kill_all()
            os._exit(0)
        self._stop(_COMMANDS.get(command, "cancelled"), _FIRST_SIGNAL.get(command, signal.SIGTERM))

    def _stop(self, reason: str, number: int = signal.SIGTERM) -> None:
        """Send a signal, and SIGKILL to all processes after five seconds; at once if they exhaust the machine."""
        if self._stopped_for is None:
            self._stopped_for = reason
            if reason in _KILL_AT_ONCE or number == signal.SIGKILL:
                self._kill()
            else:
                self._signal_group(number)
                self._kill_at = time.monotonic() + STOP_GRACE_S

    def _signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._script, number)

    def _kill(self) -> None:
        self._kill_at = time.monotonic() + STOP_GRACE_S
        self._signal_group(signal.SIGKILL)
        self._tree.kill_all()

    def _check_limits(self) -> None:
        now, request = time.monotonic(), self._request
        if self._kill_at is not None and now >= self._kill_at:
            self._kill()
        elif self._stopped_for is None and now >= self._began + request.timeout_s:
            self._stop("timeout")
        pids = self._tree.list_pids()
        self._peak_processes = max(self._peak_processes, len(pids))
        if len(pids) > request.processes:
            self._stop("processes")
            return
        self._peak_mib = max(self._peak_mib, self._tree.memory_mib(pids))
        if self._peak_mib > request.memory_mib:
            self._stop("memory")

    def _reap(self, *, block: bool = False) -> None:
        """Collect every process that has ended, also orphans."""
        while True:
            try:
                pid, status = os.waitpid(-1, 0 if block else os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._script:
                self._status = status

    # -- end ---------------------------------------------------------------------------------------

    def _end_leftovers(self) -> int:
        """Wait briefly for processes that the script left behind, then end them; return how many there were."""
        waits_until = time.monotonic() + (LEFTOVER_GRACE_S if self._stopped_for is None else 0.0)
        while (left := self._tree.list_pids()) and time.monotonic() < waits_until:
            self._reap()
            if select.select([self._fds.control], [], [], 0.01)[0]:
                self._handle_command()
                break
        self._tree.kill_all()
        self._reap(block=True)
        return len(left) if self._stopped_for is None else 0

    def _copy_records(self) -> str | None:
        """Copy the file with the records to its pipe, inside the isolation: only files that the script may read."""
        path = self._request.records_path
        if path is None:
            return None
        remaining = self._request.records_max_bytes
        try:
            source = os.open(os.path.join(self._request.cwd, path), os.O_RDONLY | os.O_NONBLOCK)  # noqa: PTH118
            status = os.fstat(source)
            if not stat.S_ISREG(status.st_mode):
                return f"{path} is no regular file"
            if status.st_mtime < time.time() - (time.monotonic() - self._began) - 1:
                return f"the script did not write {path}: it is older than this execution"
            if status.st_size > remaining:
                return f"{path} has {status.st_size} bytes, {remaining} are allowed"
            while remaining > 0 and (chunk := os.read(source, min(remaining, 1 << 20))):
                view, remaining = memoryview(chunk), remaining - len(chunk)
                while view:
                    view = view[os.write(self._fds.records, view) :]
        except FileNotFoundError:
            return f"the script did not write {path}"
        except OSError as error:
            return f"{path} cannot be read: {error.strerror}"
        return None

    def _report(self, problem: tuple[str, str] | None, leftovers: int, records_error: str | None) -> None:
        status = self._status or 0
        has_ended = problem is None and self._status is not None
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        report: dict[str, Any] = {
            "exit_code": os.WEXITSTATUS(status) if has_ended and os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if has_ended and os.WIFSIGNALED(status) else None,
            "stopped_for": self._stopped_for,
            "start_error": problem[0] if problem else None,
            "start_message": problem[1] if problem else "",
            "left_processes": leftovers,
            "most_processes": self._peak_processes,
            # Short scripts end before the first measurement.
            "peak_memory_mib": max(self._peak_mib, used.ru_maxrss / 1024),
            "cpu_s": used.ru_utime + used.ru_stime,
            "wall_s": time.monotonic() - self._began,
            "isolation": self._isolation,
            "records_error": records_error,
            "is_cwd_gone": not os.path.isdir(self._request.cwd or "/"),  # noqa: PTH112
        }
        os.write(self._fds.report, json.dumps(report).encode() + b"\n")
