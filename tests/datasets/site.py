"""A small site of images, in a thread."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Reply(NamedTuple):
    body: bytes = b""
    status: int = 200
    content_type: str = "image/jpeg"
    headers: tuple[tuple[str, str], ...] = ()


Answers = Callable[[str, int], Reply | None]  # of a path, and how often it was asked for before


@dataclass
class ImageSite:
    url: str
    answers: Answers
    requests: Counter[str] = field(default_factory=Counter)


@contextmanager
def serve_images(answers: Answers | dict[str, Reply]) -> Iterator[ImageSite]:
    if isinstance(answers, dict):
        replies = answers
        answers = lambda path, _: replies.get(path)  # noqa: E731
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            with lock:
                before = site.requests[self.path]
                site.requests[self.path] += 1
            reply = site.answers(self.path, before) or Reply(b"not here", 404, "text/plain")
            self.send_response(reply.status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(reply.body)))
            for name, value in reply.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:
            pass  # a client that was killed

    server = Server(("127.0.0.1", 0), Handler)
    site = ImageSite(f"http://127.0.0.1:{server.server_port}", answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
