"""Records of child processes, written before a process runs. A process is recognised by pid, start time and marker.

A pid alone may belong to another program by now. A process that does not match in all three is never touched.
"""

import contextlib
import json
import os
import select
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from corral.domain.errors import CorralError
from corral.runtime.file_lock import is_locked, try_lock
from corral.supervisor.plan import STOP_S

MARKER = "CORRAL_SUPERVISED"
LOCK = "supervisor.lock"
_KILLED_WITHIN_S = 5.0
_LOCK_TRIES = 10
_LOCK_POLL_S = 0.02
_START_FIELD = 19  # of /proc/PID/stat, counted from the end of the name, which may contain any character


class AlreadySupervised(CorralError):
    code = "already_supervised"

    def __init__(self, folder: Path, pid: str) -> None:
        super().__init__(
            f"another supervisor{f' (process {pid})' if pid else ''} looks after {folder}",
            hint="stop that one, or set APP_DATA_DIR to another folder",
        )


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    name: str
    pid: int
    started: int  # clock ticks after boot, as the kernel counts them
    marker: str  # in its environment


def start_time_of(pid: int) -> int | None:
    """Return when a process was started; None if there is none, or only a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[_START_FIELD])


def is_running(record: ProcessRecord) -> bool:
    """Return True only for the recorded process itself."""
    if start_time_of(record.pid) != record.started:
        return False
    try:
        variables = Path(f"/proc/{record.pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"{MARKER}={record.marker}".encode() in variables


class ProcessRecords:
    """The folder with one file per child process. Only the holder of its lock starts or ends processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: int | None = None

    def claim(self) -> None:
        """Become the only supervisor of this folder, and end processes that an earlier one left behind. Idempotent."""
        if self._lock is not None:
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _wait_for_lock(descriptor):
            pid = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise AlreadySupervised(self.folder.parent, pid)
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        self._lock = descriptor
        self._end_leftovers()

    @property
    def are_ours(self) -> bool:
        return self._lock is not None

    def leave(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def write(self, record: ProcessRecord) -> None:
        write_whole(self._path(record.name), json.dumps(asdict(record)))

    def forget(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def _end_leftovers(self) -> None:
        for path in sorted(self.folder.glob("*.json")):
            record = _read(path)
            if record is not None:
                end_recorded(record)
            path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def _wait_for_lock(descriptor: int) -> bool:
    """Wait a moment for the lock: a process that checks for a supervisor holds it briefly."""
    for _ in range(_LOCK_TRIES):
        if try_lock(descriptor):
            return True
        time.sleep(_LOCK_POLL_S)
    return False


def is_supervised(folder: Path) -> bool:
    """Return whether a supervisor holds the lock of this folder; the kernel releases it when the process dies."""
    try:
        return is_locked(folder / LOCK)
    except OSError:
        return False


def end_recorded(record: ProcessRecord, stop_s: float = STOP_S) -> bool:
    """End a process of an earlier supervisor with TERM, then KILL; return False if it no longer runs."""
    if not is_running(record):
        return False
    try:
        descriptor = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return False
    try:
        if not is_running(record):  # the descriptor may refer to another process
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        if not _has_ended(descriptor, stop_s):
            _kill_group(record.pid, descriptor)
            _has_ended(descriptor, _KILLED_WITHIN_S)
    except ProcessLookupError:
        pass
    finally:
        os.close(descriptor)
    return True


def _kill_group(pid: int, descriptor: int) -> None:
    # Everything we start leads its own group, and `_has_ended` has just found this process alive.
    with contextlib.suppress(ProcessLookupError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)


def _has_ended(descriptor: int, within_s: float) -> bool:
    """Return whether the process ends in time: its descriptor becomes readable when it has ended."""
    deadline = time.monotonic() + within_s
    while (left_s := deadline - time.monotonic()) > 0:
        if select.select([descriptor], [], [], left_s)[0]:
            return True
    return False


def _read(path: Path) -> ProcessRecord | None:
    try:
        fields = json.loads(path.read_text())
        return ProcessRecord(str(fields["name"]), int(fields["pid"]), int(fields["started"]), str(fields["marker"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_whole(path: Path, text: str) -> None:
    """Write the file atomically, readable by its owner only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as sink:
        sink.write(text)
    draft.replace(path)
