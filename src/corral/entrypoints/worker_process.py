"""Entry point of a worker process, which a node starts with LINK_FD BEAT_FD MARK_FD PARENT_PID as arguments.

It reports that it is ready and waits for its first run before it loads the code that executes runs: an idle worker
takes seven megabytes instead of thirty. Frames that arrive in the meantime are passed on to `worker_loop`.
"""

import socket
import sys
from collections.abc import Callable

from corral.runtime.heartbeat import start_beating
from corral.runtime.process import die_with_parent, load_structlog_alone

# The encoding of `engine.worker.messages`, which is not loaded yet.
_HEADER = 4
_READY = b'[["ready"]]'
_TASK = b'["task",'


def main() -> None:
    link_fd, beat_fd, mark_fd, parent_pid = (int(argument) for argument in sys.argv[1:5])
    die_with_parent(parent_pid)
    start_beating(socket.socket(fileno=beat_fd))
    link = socket.socket(fileno=link_fd)
    received = _wait_for_task(link)
    if received is None:
        return
    load_work()(link, mark_fd, received)


def load_work() -> Callable[[socket.socket, int, bytes], None]:
    """Load the code that executes runs."""
    load_structlog_alone()
    from corral.entrypoints.worker_loop import work  # noqa: PLC0415 - this import is what an idle worker saves

    return work


def _wait_for_task(link: socket.socket) -> bytes | None:
    """Return all frames up to the first run, as they were sent; None if the node closes the connection before."""
    config = _read_frame(link)
    if config is None:
        return None
    frames = [config]
    link.sendall(len(_READY).to_bytes(_HEADER, "big") + _READY)
    while _TASK not in frames[-1]:
        frame = _read_frame(link)
        if frame is None:
            return None
        frames.append(frame)
    return b"".join(frames)


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
