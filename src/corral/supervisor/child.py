"""One child process of the supervisor: recorded before it runs, with a log file, and ended with the supervisor."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from corral.runtime.private_files import OTHERS
from corral.supervisor import launch, logs, reaper
from corral.supervisor.records import MARKER, ProcessRecord, ProcessRecords, start_time_of

STOP_POLL_S = 0.02
_PLAIN_PYTHON = (sys.executable, "-I", "-S")  # enough for launch.py and reaper.py


class Reaper:
    """Handle of the process that ends grandchildren when the supervisor dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()

    def guard(self, group: int) -> None:
        self._groups.add(group)
        self._send(f"+{group}\n")

    def release(self, group: int) -> None:
        self._groups.discard(group)
        self._send(f"-{group}\n")

    def ensure_running(self) -> None:
        """Start another reaper if it was killed."""
        if self._groups and (self._process is None or self._process.poll() is not None):
            self._start()

    def close(self) -> None:
        """End the process groups that are still guarded."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):  # it has ended already
                self._process.stdin.close()
            self._process.wait()
        self._process = None

    def _send(self, line: str) -> None:
        if self._process is None or self._process.poll() is not None:
            self._start()  # sends all groups
            return
        with contextlib.suppress(BrokenPipeError):  # the next write notices that it is gone
            self._write(line)

    def _start(self) -> None:
        self.close()
        self._process = subprocess.Popen(
            [*_PLAIN_PYTHON, str(reaper.__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env={},
        )
        self._write("".join(f"+{group}\n" for group in sorted(self._groups)))

    def _write(self, text: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()


class Child:
    """A running program. It leads its own session, so that only the supervisor receives Ctrl-C from the terminal."""

    def __init__(
        self, name: str, process: subprocess.Popen[bytes], log: Path, records: ProcessRecords, guard: Reaper
    ) -> None:
        self.name = name
        self.log = log
        self.began = time.monotonic()
        self._process = process
        self._records = records
        self._guard = guard
        self._ending = threading.Lock()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while the process runs; the negative signal number if a signal ended it. Its children end with it."""
        with self._ending:
            if self._process.returncode is None and self._has_ended():
                self._reap()
        return self._process.returncode

    def terminate(self) -> None:
        if self.exit_code is None:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send KILL to the process and its children."""
        with self._ending:
            self._reap()

    def _has_ended(self) -> bool:
        """Return whether the process has ended, without reaping it: until then the kernel cannot reuse its pid."""
        try:
            exit_info = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return exit_info is not None

    def _reap(self) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
            self._guard.release(self.pid)
            self._records.forget(self.name)


class StopSequence:
    """A stop in progress: TERM at once, KILL after `within_s`. The owner polls `is_over`."""

    def __init__(self, child: Child | None, within_s: float) -> None:
        self._child = child
        self._deadline = time.monotonic() + within_s
        if child is not None:
            child.terminate()

    def is_over(self, *, stop_now: bool = False) -> bool:
        if self._child is None or self._child.exit_code is not None:
            return True
        if stop_now or time.monotonic() >= self._deadline:
            self._child.kill()
            return True
        return False


def spawn(
    name: str,
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    log: Path,
    records: ProcessRecords,
    guard: Reaper,
) -> Child:
    """Start a program that waits until it is recorded.

    Call this from a thread that lives as long as this process: the kernel treats the end of the thread that started a
    process as the death of its parent.
    """
    marker = secrets.token_hex(16)
    gate_read, gate_write = os.pipe()
    sink = logs.open_log(log)
    try:
        process = subprocess.Popen(
            [*_PLAIN_PYTHON, str(launch.__file__), str(os.getpid()), str(gate_read), *command],
            pass_fds=(gate_read,),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            env={**environment, MARKER: marker},
            umask=OTHERS,
            start_new_session=True,
        )
        child = Child(name, process, log, records, guard)
        try:
            guard.guard(process.pid)
            records.write(ProcessRecord(name, process.pid, start_time_of(process.pid) or 0, marker))
        except BaseException:  # a process without a record must not run
            child.kill()
            raise
        os.write(gate_write, b"!")
    finally:
        os.close(sink)
        os.close(gate_read)
        os.close(gate_write)
    return child
