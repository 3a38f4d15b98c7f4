"""A server that keeps what is posted to it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(ThreadingHTTPServer):
    daemon_threads = True
    statuses: list[int]  # of the next answers; 200 afterwards
    got: list[tuple[dict[str, str], bytes]]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Receiver)
        body = self.rfile.read(int(self.headers["content-length"]))
        server.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(server.statuses.pop(0) if server.statuses else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@contextmanager
def serve_receiver(*statuses: int) -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    server = Receiver(("127.0.0.1", 0), _Handler)
    server.statuses, server.got = list(statuses), []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook/canary", server.got
    finally:
        server.shutdown()
        server.server_close()
