"""The main part of a worker process: an event loop that executes the runs that its node sends."""

import asyncio
import os
import socket

from corral.engine.hosts.permits import Permits
from corral.engine.proxies.leases import ProxyLeases
from corral.engine.worker import messages
from corral.engine.worker.marker import SharedMark, mark_steps
from corral.engine.worker.worker import Worker
from corral.fetch.sessions import SessionKeys
from corral.runtime.loop_monitor import monitor_loop
from corral.runtime.process import serve
from corral.wiring.worker import worker_kinds
from corral.wiring.worker_config import WorkerConfig

_READ_LIMIT_BYTES = 2**24


def work(link: socket.socket, mark_fd: int, received: bytes) -> None:
    """Execute runs until the node closes the connection. `received` holds the frames that were read before."""
    mark = SharedMark(mark_fd)
    os.close(mark_fd)
    serve(_work(link, mark, received))


async def _work(link: socket.socket, mark: SharedMark, received: bytes) -> None:
    mark_steps(asyncio.get_running_loop(), mark)
    reader, writer = await _connect(link, received)
    try:
        async for frame in messages.read_from_node(reader):
            setup = frame[0]
            break
        else:
            return
        assert isinstance(setup, messages.WorkerSetup)
        config = WorkerConfig(**setup.config)
        keys, permits, leases = SessionKeys(config.vault_keys), Permits(), ProxyLeases()
        async with monitor_loop("worker"), worker_kinds(config, keys, permits, leases) as kinds:
            await Worker(reader, writer, kinds, keys.replace, permits, leases).serve()
    finally:
        writer.close()


async def _connect(link: socket.socket, received: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect like `asyncio.open_connection`, with a reader that begins with the bytes already received."""
    loop = asyncio.get_running_loop()
    link.setblocking(False)
    reader = asyncio.StreamReader(limit=_READ_LIMIT_BYTES, loop=loop)
    reader.feed_data(received)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.create_connection(lambda: protocol, sock=link)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
