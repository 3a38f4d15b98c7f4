"""What a good programmer writes for the same pages in an hour: downloaded, two fields read, kept for good.

wreq, selectolax and SQLite in one process and one loop; what is done counts once it is on disk, many pages a commit.
There is no run to claim, no guard, no limit, no verdict, no history: what those cost is what lies between.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time

import uvloop
import wreq
from selectolax.lexbor import LexborHTMLParser

from bench.model import Place, Result
from bench.pages import path_of

_AT_ONCE = 64


class SameWork:
    name = "a loop for the same"

    def __init__(self, place: Place) -> None:
        self._site = place.services["pages"].url
        self._file = place.folder / "pages.sqlite"

    def measure(self, count: int) -> Result:
        kept = sqlite3.connect(self._file, isolation_level=None)
        for setting in ("journal_mode=WAL", "synchronous=FULL"):
            kept.execute(f"PRAGMA {setting}")
        kept.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, url TEXT, title TEXT, heading TEXT)")
        seconds = uvloop.run(self._time_run(kept, count))
        [[found]] = kept.execute("SELECT count(*) FROM pages WHERE title LIKE 'Page %' AND heading LIKE 'Heading %'")
        assert found == count, f"{found} of {count} pages"
        notes = f"wreq, selectolax, SQLite synchronous=FULL, {_AT_ONCE} at once; no runs, no guard, no history"
        return Result(count / seconds, count, seconds, notes)

    async def _time_run(self, kept: sqlite3.Connection, count: int) -> float:
        client = wreq.Client()
        urls = iter([f"{self._site}{path_of(number)}" for number in range(count)])
        read: list[tuple[str, str, str]] = []

        async def reader() -> None:
            for url in urls:
                answer = await client.get(url)
                page = LexborHTMLParser(bytes(await answer.bytes()).decode())
                title, heading = page.css_first("title"), page.css_first("h1")
                assert title is not None
                assert heading is not None
                read.append((url, title.text(), heading.text()))
                if len(read) >= _AT_ONCE:
                    keep()

        def keep() -> None:
            kept.execute("BEGIN")
            kept.executemany("INSERT INTO pages (url, title, heading) VALUES (?, ?, ?)", read)
            kept.execute("COMMIT")
            read.clear()

        began = time.perf_counter()
        await asyncio.gather(*(reader() for _ in range(_AT_ONCE)))
        keep()
        return time.perf_counter() - began
