"""Entry point of a worker process: `python -m corral.child LINK_FD BEAT_FD PARENT_PID`. Started by a node only."""

import asyncio
import socket
import sys

from corral.engine import wire
from corral.engine.permits import Permits
from corral.engine.worker import Worker, start_beating
from corral.process import die_with_parent, serve


async def _main(link: socket.socket) -> None:
    # After the heartbeat has started.
    from corral.fetch.sessions import SessionKeys  # noqa: PLC0415
    from corral.stalls import watched_loop  # noqa: PLC0415
    from corral.wiring_worker import WorkerConfig, worker_kinds  # noqa: PLC0415

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
    link_fd, beat_fd, parent_pid = (int(argument) for argument in sys.argv[1:4])
    die_with_parent(parent_pid)
    start_beating(socket.socket(fileno=beat_fd))
    serve(_main(socket.socket(fileno=link_fd)))


if __name__ == "__main__":
    main()
