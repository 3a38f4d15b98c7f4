"""Entry point of a worker process, which a node starts with LINK_FD BEAT_FD MARK_FD PARENT_PID as arguments.

It says that it is ready and waits for its first run before it loads what executes runs: an idle worker takes seven
megabytes instead of thirty. What the node says meanwhile is kept for `child_work`.
"""

import socket
import sys
from collections.abc import Callable

from corral.runtime.heartbeat import start_beating
from corral.runtime.process import die_with_parent, load_structlog_alone

# As `engine.worker.messages` writes them, which is not loaded yet.
_HEADER = 4
_READY = b'[["ready"]]'
_TASK = b'["task",'


def main() -> None:
    link_fd, beat_fd, mark_fd, parent_pid = (int(argument) for argument in sys.argv[1:5])
    die_with_parent(parent_pid)
    start_beating(socket.socket(fileno=beat_fd))
    link = socket.socket(fileno=link_fd)
    heard = _wait_for_task(link)
    if heard is None:
        return
    load_work()(link, mark_fd, heard)


def load_work() -> Callable[[socket.socket, int, bytes], None]:
    """Load what executes runs."""
    load_structlog_alone()
    from corral.entrypoints.worker_loop import work  # noqa: PLC0415 - this is what is put off

    return work


def _wait_for_task(link: socket.socket) -> bytes | None:
    """Everything that the node said up to its first run, as it was sent; None where it is gone before."""
    config = _read_frame(link)
    if config is None:
        return None
    heard = [config]
    link.sendall(len(_READY).to_bytes(_HEADER, "big") + _READY)
    while _TASK not in heard[-1]:
        frame = _read_frame(link)
        if frame is None:
            return None
        heard.append(frame)
    return b"".join(heard)


def _read_frame(link: socket.socket) -> bytes | None:
    try:
        header = link.recv(_HEADER, socket.MSG_WAITALL)
        size = int.from_bytes(header, "big")
        body = link.recv(size, socket.MSG_WAITALL) if len(header) == _HEADER else b""
    except ConnectionError:
        return None
    return header + body if body and len(body) == size else None


if __name__ == "__main__":
    main()
