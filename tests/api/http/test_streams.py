"""Event streams: as many as the limit says, and not one more."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack

from starlette.types import Receive, Scope, Send

from corral.api.binding import bind_listener
from corral.api.http.connections import Connections
from corral.api.http.limits import HttpLimits
from corral.api.server import make_server
from corral.api.streams import EventStream, Streams
from tests.api.http.connections_helpers import health
from tests.api.http.wire import ask, connect, head
from tests.slack import SLACK
from tests.stack import Stack
from tests.waiting import block_until

LIMIT = 3


def _first_line(client: socket.socket) -> bytes:
    received = b""
    while b"\r\n" not in received:
        received += client.recv(4096)
    return received.partition(b"\r\n")[0]


def test_the_limit_is_exact_however_many_come_at_once(small: Stack) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(small.url)) for _ in range(LIMIT + 4)]
        ready = threading.Barrier(len(clients))
        lines: list[bytes] = []

        def open_stream(client: socket.socket) -> None:
            ready.wait()
            client.sendall(head("GET", "/events/stream"))
            lines.append(_first_line(client))

        threads = [threading.Thread(target=open_stream, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(lines) == [b"HTTP/1.1 200 OK"] * LIMIT + [b"HTTP/1.1 503 Service Unavailable"] * 4
        refused = ask(small.url, head("GET", "/events/stream"))
        assert refused.error["code"] == "too_many_streams"
        assert refused.headers["retry-after"]
        assert health(small)["components"]["streams"] == {"status": "full", "open": LIMIT, "limit": LIMIT}
    block_until(
        lambda: health(small)["components"]["streams"]["open"] == 0,
        within_s=20,
        otherwise="closed streams are not given back",
    )


async def test_a_stream_that_nobody_reads_is_cut_and_gives_its_place_back() -> None:
    """Without end, through the real server: no history is as long as the buffers of a fast machine."""
    streams = Streams(1)

    async def chunks() -> AsyncIterator[bytes]:
        while True:
            yield b": x\n" * 16_000

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await EventStream(streams, chunks(), {})(scope, receive, send)

    connections = Connections(HttpLimits(send_timeout_s=0.3))
    server = make_server(application, connections, lambda *_: None, lambda _: [])
    listening = bind_listener("127.0.0.1", 0)
    serving = asyncio.create_task(server.serve([listening]))
    sweeping = asyncio.create_task(connections.sweep_forever())
    _, writer = await asyncio.open_connection(*listening.getsockname(), limit=1024)
    writer.write(head("GET", "/"))
    deadline = time.monotonic() + 10 * SLACK
    for is_open in (1, 0):
        while streams.open != is_open:
            assert time.monotonic() < deadline, "it is not cut"
            await asyncio.sleep(0.01)
    assert connections.open == 0
    server.should_exit = True
    await serving
    sweeping.cancel()
    writer.transport.abort()
