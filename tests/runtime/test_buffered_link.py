"""What a child process sends is kept until it is read, even after the connection is lost."""

import asyncio
import socket

from corral.runtime.buffered_link import BufferedLink
from corral.runtime.process import make_link


async def _connect() -> tuple[BufferedLink, socket.socket]:
    ours, theirs = make_link()
    _, link = await asyncio.get_running_loop().create_unix_connection(BufferedLink, sock=ours)
    return link, theirs


async def test_data_that_arrives_before_the_end_can_be_read_after_it() -> None:
    link, theirs = await _connect()
    with theirs:
        theirs.sendall(b"an answer")
    while not link.is_lost:
        await link.wait()
    assert link.received == b"an answer"


async def test_parts_are_sent_in_order_and_a_closed_link_is_lost() -> None:
    link, theirs = await _connect()
    with theirs:
        link.send([b"head", b"body"])
        assert theirs.recv(8, socket.MSG_WAITALL) == b"headbody"
        link.close()
        await link.wait()
        assert link.is_lost
        assert theirs.recv(1) == b""
