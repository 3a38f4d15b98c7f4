"""The bare loop with a memory: a frontier, records and links in SQLite, many pages a commit, `synchronous=FULL`.

What a crawl costs that can be killed anywhere and goes on, with nothing else: no guard, no limits on what a page may do
to its reader, no robots.txt, no scope, no pace, no verdicts, no traps, no history. One process, one loop.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from urllib.parse import urldefrag, urljoin, urlsplit

import orjson
import uvloop
import wreq
from selectolax.lexbor import LexborHTMLParser

from bench.crawl.sites import start_of
from bench.model import Place, Result

_AT_ONCE = 64
_TABLES = (
    "CREATE TABLE items (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, state INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX pending ON items (id) WHERE state = 0",
    "CREATE TABLE records (item INTEGER PRIMARY KEY, data TEXT NOT NULL)",
)
_NEXT = "SELECT id FROM items WHERE state = 0 ORDER BY id LIMIT ?"
_TAKE = f"UPDATE items SET state = 1 WHERE id IN ({_NEXT}) RETURNING id, url"


class Durable:
    name = "durable loop"

    def __init__(self, place: Place) -> None:
        self._start = start_of(place)
        self._file = place.folder / "crawl.sqlite"

    def measure(self, count: int) -> Result:
        kept = sqlite3.connect(self._file, isolation_level=None)
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", *_TABLES):
            kept.execute(statement)
        kept.execute("INSERT INTO items (url) VALUES (?)", (self._start,))
        took_s = uvloop.run(self._crawl(kept, count))
        [[found]] = kept.execute("SELECT count(*) FROM records JOIN items ON items.id = item WHERE state = 2")
        assert found >= count, f"{found} of {count} pages"
        return Result(
            count / took_s, count, took_s, f"SQLite, synchronous=FULL, {_AT_ONCE} at once; nothing but durable"
        )

    async def _crawl(self, kept: sqlite3.Connection, count: int) -> float:
        client = wreq.Client()
        origin = urlsplit(self._start)._replace(path="").geturl()
        waiting: asyncio.Queue[tuple[int, str]] = asyncio.Queue()
        ended: list[tuple[int, str, list[str]]] = []
        done = 0

        async def reader() -> None:
            while True:
                number, url = await waiting.get()
                answer = await client.get(url)
                ended.append((number, *_read(url, origin, bytes(await answer.bytes()))))

        began = time.perf_counter()
        readers = [asyncio.create_task(reader()) for _ in range(_AT_ONCE)]
        while done < count:
            done += _step(kept, ended, waiting)
            await asyncio.sleep(0.01)
        took_s = time.perf_counter() - began
        for task in readers:
            task.cancel()
        return took_s


def _read(url: str, origin: str, body: bytes) -> tuple[str, list[str]]:
    """The record of a page, and where it leads."""
    tree = LexborHTMLParser(body.decode())
    title = tree.css_first("title")
    assert title is not None
    links = []
    for node in tree.css("a[href]"):
        href = (node.attributes["href"] or "").partition("#")[0]
        link = origin + href if href[:1] == "/" else urldefrag(urljoin(url, href))[0]
        if link.startswith(origin) and link.endswith(".html"):
            links.append(link)
    assert tree.body is not None
    text = " ".join(tree.body.text(separator=" ").split())
    record = {"url": url, "title": title.text(), "text": text[:2000], "full_text": text, "char_count": len(text)}
    return orjson.dumps(record).decode(), links


def _step(
    kept: sqlite3.Connection, ended: list[tuple[int, str, list[str]]], waiting: asyncio.Queue[tuple[int, str]]
) -> int:
    """What has ended is written with its links, and as much taken as there is room for; in one transaction."""
    pages = ended.copy()
    ended.clear()
    kept.execute("BEGIN IMMEDIATE")
    kept.executemany("INSERT INTO records VALUES (?, ?)", [(number, record) for number, record, _ in pages])
    kept.executemany("UPDATE items SET state = 2 WHERE id = ?", [(number,) for number, _, _ in pages])
    links = [(link,) for _, _, found in pages for link in found]
    kept.executemany("INSERT OR IGNORE INTO items (url) VALUES (?)", links)
    taken = kept.execute(_TAKE, (2 * _AT_ONCE - waiting.qsize(),)).fetchall()
    kept.execute("COMMIT")
    for each in taken:
        waiting.put_nowait(each)
    return len(pages)
