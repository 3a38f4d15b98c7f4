"""Sites that harm those who scrape them, each in its own way."""

import gzip
import os
import socket
import socketserver
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from corral.runtime.process import die_with_parent

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_ZEROS = bytes(64 * 1024)


def _tarpit(connection: socket.socket) -> None:
    """One byte per second."""
    connection.sendall(_HEAD + b"Content-Length: 1000\r\n\r\n")
    for _ in range(1000):
        connection.sendall(b"x")
        time.sleep(1)


def _endless(connection: socket.socket) -> None:
    """A body of 10 GB whose length is not announced."""
    connection.sendall(_HEAD + b"Connection: close\r\n\r\n<p>")
    for _ in range(10 * 1024 * 1024 // 64):
        connection.sendall(_ZEROS)


def _redirect_loop(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /loop?" + str(time.time_ns()).encode())
    connection.sendall(b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


_LINKS = b"".join(b"<a href=/%d>%d</a>" % (n, n) for n in range(100_000))
_BOMB = gzip.compress(bytes(100 * 1024 * 1024))


def _many_links(connection: socket.socket) -> None:
    connection.sendall(_HEAD + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(_LINKS) + _LINKS)


def _server_error(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


def _huge_headers(connection: socket.socket) -> None:
    connection.sendall(_HEAD)
    for number in range(10_000):
        connection.sendall(b"X-%d: %s\r\n" % (number, b"a" * 1000))
    connection.sendall(b"\r\n")


def _gzip_bomb(connection: socket.socket) -> None:
    head = _HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n" % len(_BOMB)
    connection.sendall(head + b"Connection: close\r\n\r\n" + _BOMB)


def _garbage_for_tls(connection: socket.socket) -> None:
    connection.sendall(b"\x16\x03\x01\xff\xff" + b"\xff" * 1000)


HOSTILITIES: dict[str, Callable[[socket.socket], None]] = {
    "tarpit": _tarpit,
    "endless body": _endless,
    "redirect loop": _redirect_loop,
    "100,000 links": _many_links,
    "server errors": _server_error,
    "resets": _reset,
    "huge headers": _huge_headers,
    "gzip bomb": _gzip_bomb,
    "broken TLS": _garbage_for_tls,
}


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        """A client that leaves is what these sites are made for."""


def serve(name: str) -> None:
    """Serve every path in one hostile way; print the port."""
    act = HOSTILITIES[name]

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            request = self.request.recv(65536)
            if b"/robots.txt" in request[:100]:
                self.request.sendall(b"HTTP/1.1 404 None\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            elif request:
                act(self.request)

    with _Server(("127.0.0.1", 0), Handler) as server:
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()


@contextmanager
def serve_hostility(name: str) -> Iterator[str]:
    """Yield the origin of a hostile site. It has a process of its own: it must not slow down the honest servers."""
    command = [sys.executable, "-m", "tests.chaos.hostile_site", name, str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            scheme = "https" if name == "broken TLS" else "http"
            yield f"{scheme}://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


if __name__ == "__main__":
    die_with_parent(int(sys.argv[2]))
    serve(sys.argv[1])
