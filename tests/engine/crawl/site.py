"""A site made for one test: pages that lead to each other, answers of every kind, and a count of who was asked."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Page:
    links: Sequence[str] = ()
    status: int = 200
    text: str = ""
    raw: str | bytes | None = None  # the whole body
    head: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    fails_first: int = 0  # answers 503 so many times before it works
    takes_s: float = 0.0
    on_ask: Callable[[], object] | None = None  # done before it is answered


@dataclass
class Site:
    pages: dict[str, Page]
    url: str = ""
    hits: "Counter[str]" = field(default_factory=Counter)
    at_once: int = 0
    most_at_once: int = 0
    asked_at: list[tuple[str, float]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, path: str) -> Callable[[], None]:
        """Count a request. The function that is returned ends it; further calls of it do nothing."""
        with self.lock:
            self.hits[path] += 1
            self.asked_at.append((path, time.monotonic()))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        is_here = True

        def leave() -> None:
            nonlocal is_here
            with self.lock:
                self.at_once -= is_here
            is_here = False

        return leave

    def came(self, path: str, port: int) -> Callable[[], None]:
        """Somebody, from this port of theirs; what is to be done when they are about to be answered."""
        return lambda: None

    def answer_to(self, path: str, asked: Mapping[str, str]) -> tuple[int, Mapping[str, str], str | bytes]:
        """To a request with these headers."""
        return self.answer(path)

    def answer(self, path: str) -> tuple[int, Mapping[str, str], str | bytes]:
        page = self.pages.get(path)
        if page is None:
            return 404, {}, "<title>gone</title><p>nothing here"
        if self.hits[path] <= page.fails_first:
            return 503, {}, "<p>not now"
        if page.raw is not None:
            return page.status, page.headers, page.raw
        links = "".join(f'<li><a href="{link}">to {link}</a>' for link in page.links)
        text = page.text or f"The page {path} has some words of its own: {words_of(path, 40)}"
        body = f"<title>Page {path}</title>{page.head}<body><main><h1>{path}</h1><p>{text}</main><ul>{links}</ul>"
        return page.status, page.headers, body


def words_of(seed: str, count: int) -> str:
    """Always the same for the same seed, and hardly any in common with another."""
    dice = random.Random(seed)
    return " ".join("".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(count))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Whoever asked was killed: that is what the tests are about."""


@contextmanager
def serve_site(pages: dict[str, Page] | Site) -> Iterator[Site]:
    site = pages if isinstance(pages, Site) else Site(pages)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body are two writes: with Nagle's algorithm, the body waits 40 ms for a delayed acknowledgement.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            left = site.came(self.path, self.client_address[1])
            leave = site.enter(self.path)
            try:
                page = site.pages.get(self.path)
                time.sleep(page.takes_s if page else 0)
                if page is not None and page.on_ask is not None:
                    page.on_ask()
                status, headers, text = site.answer_to(self.path, {k.lower(): v for k, v in self.headers.items()})
                body = text if isinstance(text, bytes) else text.encode()
                left()
                self.send_response(status)
                for name, value in {"content-type": "text/html", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                # Before the last byte: the client may send its next request before this thread runs again.
                leave()
                self.wfile.write(body)
            except ConnectionError:
                leave()

        def log_message(self, *_: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def tree(width: int, depth: int) -> dict[str, Page]:
    """`/`, `/0`, `/0/1` …: every page leads to its children, its parent and the start."""
    pages: dict[str, Page] = {}

    def grow(path: str, left: int) -> None:
        below = [f"{path.rstrip('/')}/{number}" for number in range(width)] if left else []
        above = path.rpartition("/")[0] or "/"
        pages[path] = Page(links=[*below, above, "/"])
        for each in below:
            grow(each, left - 1)

    grow("/", depth)
    return pages
