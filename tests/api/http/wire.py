"""HTTP by hand, over sockets: what no well-behaved client would send, or would send so slowly."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.slack import SLACK


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        """Of an answer in the shape of every error."""
        document = json.loads(self.body)
        assert set(document) == {"error", "detail"}, document
        assert document["detail"] == document["error"]["message"]
        assert document["error"]["request_id"] == self.headers["x-request-id"]
        assert self.headers["content-type"] == "application/json"
        return dict(document["error"])


@contextmanager
def connect(url: str, receive_buffer: int | None = None) -> Iterator[socket.socket]:
    address = urlsplit(url)
    with socket.socket() as client:
        if receive_buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(20 * SLACK)
        client.connect((address.hostname, address.port))
        yield client


def head(method: str, path: str, *headers: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


def post(path: str, body: bytes, content_type: str = "application/json", *headers: str) -> bytes:
    return head("POST", path, f"Content-Type: {content_type}", f"Content-Length: {len(body)}", *headers) + body


def read_answer(client: socket.socket) -> Answer:
    """One answer with a declared length."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _piece(client, received)
    first, _, rest = received.partition(b"\r\n")
    lines, _, body = rest.partition(b"\r\n\r\n")
    pairs = (line.partition(": ") for line in lines.decode().split("\r\n"))
    headers = {name.lower(): value for name, _, value in pairs}
    while len(body) < int(headers["content-length"]):
        body += _piece(client, body)
    return Answer(int(first.split()[1]), headers, body)


def _piece(client: socket.socket, so_far: bytes) -> bytes:
    piece = client.recv(65536)
    assert piece, f"closed after {so_far[:200]!r}"
    return piece


def ask(url: str, request: bytes) -> Answer:
    with connect(url) as client:
        client.sendall(request)
        return read_answer(client)


def is_closed(client: socket.socket) -> bool:
    """Wait until the other side has closed; False where it goes on answering."""
    try:
        return client.recv(65536) == b""
    except ConnectionResetError:
        return True
