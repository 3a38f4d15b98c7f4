"""Files over HTTP: written while they are read, whole or visibly not."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import psutil
import pytest
from starlette.types import Receive, Scope, Send

from corral.api import exports
from corral.api.binding import bind_listener
from corral.api.http.connections import Connections
from corral.api.http.limits import HttpLimits
from corral.api.server import make_server
from corral.domain.errors import StorageUnavailable
from corral.export.formats import Format
from tests.engine.crawl.site import serve_site, tree
from tests.engine.crawl.tasks import submit, wait_for_task
from tests.export import reading
from tests.export.fill import fill_crawl
from tests.export.warc_reader import read as read_warc
from tests.stack import Stack
from tests.waiting import until

UNKNOWN = "01890000-0000-7000-8000-000000000000"
MANY, CHARS = 6000, 10_000


@pytest.fixture(scope="module")
def many(stack: Stack) -> str:
    """A run with far more than the buffers of two sockets take: 60 MB."""
    return fill_crawl(stack.environment.get("APP_DATABASE_URL") or f"sqlite:///{stack.data_dir}/corral.db", MANY, CHARS)


def test_a_task_is_exported_in_the_format_it_asked_for(stack: Stack) -> None:
    with serve_site(tree(width=3, depth=1)) as site:
        tasks = {
            kind: submit(stack, f"{site.url}/", export_format=kind) for kind in ("json", "csv", "jsonl", "parquet")
        }
        for task in tasks.values():
            wait_for_task(stack, task)
    urls = {site.url + path for path in site.pages}
    for kind, task in tasks.items():
        link = stack.client.get(f"/scraping/tasks/{task}/results").json()["metadata"]["export_url"]
        answer = stack.client.get(link).raise_for_status()
        assert answer.headers["content-type"] == Format(kind).content_type
        assert answer.headers["content-disposition"] == f'attachment; filename="run-{task}.{kind}"'
        assert {row["url"] for row in _rows(kind, answer.content)} == urls
        other = stack.client.get(link, params={"format": "xlsx"}).raise_for_status()
        assert {row["url"] for row in _rows("xlsx", other.content)} == urls
        same = stack.client.get(f"/jobs/runs/{task}/export", params={"format": kind})
        assert same.content == answer.content
    assert _rows("json", stack.client.get(f"/jobs/runs/{tasks['csv']}/export").content)


def test_kept_pages_are_an_archive(stack: Stack) -> None:
    with serve_site(tree(width=2, depth=1)) as site:
        task = submit(stack, f"{site.url}/", keep_pages=True)
        wait_for_task(stack, task)
    answer = stack.client.get(f"/scraping/tasks/{task}/export", params={"format": "warc"}).raise_for_status()
    assert answer.headers["content-disposition"] == f'attachment; filename="run-{task}.warc.gz"'
    found = {url for kind, url, _, _ in read_warc(answer.content) if kind == "response"}
    assert found == {site.url + path for path in site.pages}


def _rows(kind: str, data: bytes) -> list[dict[str, str]]:
    if kind == "xlsx":
        [head, *rows] = reading.xlsx(data)["records"]
        return [dict(zip(head, row, strict=True)) for row in rows]
    by_kind: dict[str, Callable[[bytes], Any]] = {
        "json": json.loads,
        "jsonl": reading.jsonl,
        "csv": reading.from_csv,
        "parquet": reading.parquet,
    }
    return list(by_kind[kind](data))


def test_what_cannot_be_exported_is_said_before_the_first_byte(stack: Stack, many: str) -> None:
    page = stack.start(stack.job())["id"]
    stack.wait_for_end(page)
    refusals = {
        f"/jobs/runs/{UNKNOWN}/export": (404, "not_found"),
        f"/scraping/tasks/{page}/export": (404, "not_found"),
        f"/jobs/runs/{page}/export?format=pdf": (422, "bad_input"),
        f"/jobs/runs/{page}/export?format=warc": (409, "pages_not_kept"),
        f"/scraping/tasks/{many}/export?format=warc": (409, "pages_not_kept"),
        f"/jobs/runs/{page}/export?formt=csv": (422, "bad_input"),
    }
    for path, wanted in refusals.items():
        answer = stack.client.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == wanted, path
    [row] = _rows("csv", stack.client.get(f"/jobs/runs/{page}/export?format=csv").content)
    assert set(row) == {"title"}
    head = stack.client.head(f"/jobs/runs/{many}/export?format=xlsx")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == Format.XLSX.content_type


def test_a_slow_reader_is_waited_for_and_nothing_piles_up(stack: Stack, many: str) -> None:
    server = psutil.Process(stack.process.pid)
    stack.client.get(f"/jobs/runs/{many}/export?format=jsonl")  # what is needed once is there
    before = server.memory_info().rss
    reader: Iterator[bytes] = iter(())
    with ExitStack() as readers:
        for path in (f"/jobs/runs/{many}/export?format=jsonl", f"/scraping/tasks/{many}/results"):
            reader = readers.enter_context(stack.client.stream("GET", path)).iter_raw(65536)
            next(reader)
            time.sleep(0.5)
            assert (server.memory_info().rss - before) / 1e6 < 45  # of 60 in all
        assert sum(map(len, reader)) > MANY * CHARS - 1_000_000
    assert (server.memory_info().rss - before) / 1e6 < 45  # of 60 in all


def test_exports_at_once_are_bounded_and_whoever_leaves_makes_room(stack: Stack, many: str) -> None:
    path = f"/jobs/runs/{many}/export?format=jsonl"
    with ExitStack() as readers:
        answers = [readers.enter_context(stack.client.stream("GET", path)) for _ in range(exports.MAX_EXPORTS)]
        assert {answer.status_code for answer in answers} == {200}
        refused = stack.client.get(path)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_exports")
        assert int(refused.headers["retry-after"]) >= 1
    for _ in range(exports.MAX_EXPORTS):  # who leaves while the columns are being found
        with contextlib.suppress(httpx.TimeoutException):
            stack.client.get(f"/jobs/runs/{many}/export?format=xlsx", timeout=0.05)
    deadline = time.monotonic() + 20
    while True:
        with stack.client.stream("GET", path) as answer:
            if answer.status_code == 200:
                return
        assert time.monotonic() < deadline, "the places of readers that have left stay taken"
        time.sleep(0.1)


# -- what the store does in the middle of it, and readers that stand still ------------------------------------------


class _Broken:
    def __init__(self) -> None:
        self.closed = 0

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            yield b"first,"
            await asyncio.sleep(0.05)
            raise StorageUnavailable("the database is gone")
        finally:
            self.closed += 1

    async def endless(self) -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 65536
                await asyncio.sleep(0)
        finally:
            self.closed += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pieces = self.pieces() if scope["path"] == "/broken" else self.endless()
        await exports._Delivery(b"a", pieces, media_type="text/csv", headers={})(scope, receive, send)  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def _serve(app: _Broken) -> AsyncIterator[str]:
    socket = bind_listener("127.0.0.1", 0)
    connections = Connections(HttpLimits(send_timeout_s=0.3))
    server = make_server(app, connections, lambda *_: None, lambda _: [])
    serving = asyncio.create_task(server.serve(sockets=[socket]))
    sweeping = asyncio.create_task(connections.sweep_forever())
    await until(lambda: server.started)
    yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    server.should_exit = True
    await serving
    sweeping.cancel()


async def test_half_a_file_is_not_taken_for_a_whole_one() -> None:
    app = _Broken()
    async with _serve(app) as url, httpx.AsyncClient() as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(f"{url}/broken")
        assert app.closed == 1
        async with client.stream("GET", f"{url}/endless") as answer:
            reader = answer.aiter_raw(10)
            await anext(reader)
            await until(lambda: app.closed == 2)
