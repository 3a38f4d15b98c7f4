"""Entry point of a worker process, started by a node: `python -m corral.child LINK_FD BEAT_FD MARK_FD PARENT_PID`."""

import asyncio
import os
import socket
import sys

from corral.engine import wire
from corral.engine.marker import SharedMark, mark_steps
from corral.engine.permits import Permits
from corral.engine.worker import Worker, start_beating
from corral.process import die_with_parent, serve


async def _main(link: socket.socket, mark: SharedMark) -> None:
    # After the heartbeat has started.
    from corral.fetch.sessions import SessionKeys  # noqa: PLC0415
    from corral.stalls import watched_loop  # noqa: PLC0415
    from corral.wiring_worker import WorkerConfig, worker_kinds  # noqa: PLC0415

    mark_steps(asyncio.get_running_loop(), mark)
    reader, writer = await asyncio.open_connection(sock=link, limit=2**24)
    try:
        async for frame in wire.frames(reader):
            config = WorkerConfig(**frame[0][1])
            break
        else:
            return
        keys, permits = SessionKeys(config.vault_keys), Permits()
        async with watched_loop("worker"), worker_kinds(config, keys, permits) as kinds:
            await Worker(reader, writer, kinds, keys.replace, permits).serve()
    finally:
        writer.close()


def main() -> None:
    link_fd, beat_fd, mark_fd, parent_pid = (int(argument) for argument in sys.argv[1:5])
    die_with_parent(parent_pid)
    start_beating(socket.socket(fileno=beat_fd))
    mark = SharedMark(mark_fd)
    os.close(mark_fd)
    serve(_main(socket.socket(fileno=link_fd), mark))


if __name__ == "__main__":
    main()
