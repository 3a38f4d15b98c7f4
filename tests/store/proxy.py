"""A TCP proxy in front of PostgreSQL that can break connections at the worst moment."""

import contextlib
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum


class Fault(Enum):
    NONE = "none"
    COMMIT_UNANSWERED = "the server commits, and its answer is lost"
    COMMIT_UNSENT = "the commit is lost on its way to the server"
    SILENT = "accepts connections and says nothing"


class Proxy:
    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.fault = Fault.NONE
        self.broken = 0
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        for each in self._sockets:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(client)
            if self.fault is not Fault.SILENT:
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), client, socket.create_connection(self._target) as server:
            while self._pass_on(client, server):
                pass

    def _pass_on(self, client: socket.socket, server: socket.socket) -> bool:
        readable, _, _ = select.select([client, server], [], [], 30)
        if client in readable:
            data = client.recv(65536)
            if not data:
                return False
            if b"COMMIT" in data and self.fault in (Fault.COMMIT_UNANSWERED, Fault.COMMIT_UNSENT):
                if self.fault is Fault.COMMIT_UNANSWERED:
                    server.sendall(data)
                    server.recv(65536)
                self.fault = Fault.NONE
                self.broken += 1
                return False
            server.sendall(data)
        if server in readable:
            data = server.recv(65536)
            if not data:
                return False
            client.sendall(data)
        return True


@contextmanager
def proxy_to(port: int) -> Iterator[Proxy]:
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
