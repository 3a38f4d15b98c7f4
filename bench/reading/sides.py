"""Pages, read as the reader of a crawl reads them, and only parsed. `count` is the number of rounds."""

from __future__ import annotations

import gc
import random
import time
from datetime import UTC, datetime
from pathlib import Path

import orjson
from selectolax.lexbor import LexborHTMLParser

from bench.model import Place, Result
from bench.pages import path_of, source_of
from corral.domain.crawl.crawl import CrawlPlan
from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.link_classifier import ReadMemory
from corral.extract.page_reader import ReadRequest, read_page
from corral.extract.read_time import ReadTime
from corral.runtime.process import COLLECT_AFTER, keep_freed_memory

_SITE = "http://127.0.0.1:8000/"
_DOCUMENTED = 60
_SMALL = 200
_HEADERS = (("content-type", "text/html"),)


def _documentation() -> list[tuple[bytes, str]]:
    root = Path("/usr/share/doc/python3-doc/html").resolve()
    files = sorted(root.rglob("*.html"))
    assert files, "there is no documentation of Python here; scripts/services docs installs it"
    chosen = random.Random(1).sample(files, min(_DOCUMENTED, len(files)))
    return [(file.read_bytes(), _SITE + file.relative_to(root).as_posix()) for file in chosen]


def _small_pages() -> list[tuple[bytes, str]]:
    return [(source_of(number, 5_000).encode(), _SITE + path_of(number, 5_000)) for number in range(_SMALL)]


class _Reading:
    name = ""

    def __init__(self, place: Place) -> None:
        plan = CrawlPlan.of({"start_urls": [_SITE], "max_depth": 100})
        self._options = CrawlReadOptions(orjson.dumps(plan.document()).decode(), 1)
        self._time = ReadTime(datetime.now(UTC), time.monotonic())
        self._memory = ReadMemory()

    def pages(self) -> list[tuple[bytes, str]]:
        raise NotImplementedError

    def read(self, body: bytes, url: str) -> None:
        read_page(ReadRequest(body, url, url, 200, _HEADERS, crawl=self._options), self._time, memory=self._memory)

    def measure(self, count: int) -> Result:
        pages = self.pages()
        gc.freeze()
        keep_freed_memory()
        gc.set_threshold(COLLECT_AFTER)  # both as in a reader
        best = [float("inf")] * len(pages)
        began = time.perf_counter()
        for _ in range(count):
            for at, (body, url) in enumerate(pages):
                start = time.process_time()
                self.read(body, url)
                best[at] = min(best[at], time.process_time() - start)
        mean_s = sum(best) / len(best)
        size = sum(len(body) for body, _ in pages) // len(pages) // 1024
        notes = f"{len(pages)} pages of {size} KB, the fastest of {count} rounds each"
        return Result(1 / mean_s, len(pages), time.perf_counter() - began, notes, {"ms": 1000 * mean_s})


class Documentation(_Reading):
    name = "documentation"

    def pages(self) -> list[tuple[bytes, str]]:
        return _documentation()


class SmallPages(_Reading):
    name = "small pages"

    def pages(self) -> list[tuple[bytes, str]]:
        return _small_pages()


class ParsedDocumentation(Documentation):
    name = "documentation, only parsed"

    def read(self, body: bytes, url: str) -> None:
        LexborHTMLParser(body)


class ParsedSmallPages(SmallPages):
    name = "small pages, only parsed"

    def read(self, body: bytes, url: str) -> None:
        LexborHTMLParser(body)
