"""Each side from the bytes of a page to its ten values. Values are compared before the time is taken."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin

from bench.extract.pages import BASE, Field, MadePage, make_pages
from bench.model import Place, Result
from corral.runtime.process import COLLECT_AFTER, keep_freed_memory

_ADDRESSES = ("href", "src")
Record = dict[str, Any]


def _value(field: Field, text: str | None) -> str | None:
    """An address as a whole one, a text without the space around it."""
    if text is None:
        return None
    return urljoin(BASE, text) if field.attr in _ADDRESSES else text.strip()


class _Side:
    name = ""

    def __init__(self, place: Place) -> None:
        self._pages = make_pages()

    def prepare(self, page: MadePage) -> Callable[[], Record]:
        """What reads one page; what a user writes once is done here."""
        raise NotImplementedError

    def measure(self, count: int) -> Result:
        calls = {page.kind: self.prepare(page) for page in self._pages}
        for page in self._pages:
            found = calls[page.kind]()
            assert found == page.record, f"{self.name} on {page.kind}: {found} is not {page.record}"
        gc.freeze()
        keep_freed_memory()
        gc.set_threshold(COLLECT_AFTER)  # both as in Corral's readers, and the same for all sides
        each, took = max(1, count // len(calls)), {}
        for kind, call in calls.items():
            began = time.process_time()
            for _ in range(each):
                call()
            took[kind] = time.process_time() - began
        seconds = sum(took.values())
        done = each * len(calls)
        sizes = ", ".join(f"{page.kind} {len(page.body) // 1024} KB" for page in self._pages)
        metrics = {kind: each / kind_took for kind, kind_took in took.items()}
        return Result(done / seconds, done, seconds, f"processor time of one core; {sizes}", metrics)


class Corral(_Side):
    name = "corral"

    def prepare(self, page: MadePage) -> Callable[[], Record]:
        from corral.domain.fields.spec import FieldSpec
        from corral.extract.page_reader import ReadRequest, read_page
        from corral.extract.read_time import ReadTime

        fields = tuple(FieldSpec(each.name, css=each.css, attr=each.attr, all=each.all) for each in page.fields)
        headers = (("content-type", "text/html; charset=utf-8"),)
        request = ReadRequest(page.body, BASE, BASE, 200, headers, fields)
        now = ReadTime(datetime.now(UTC), time.monotonic())

        def read() -> Record:
            answer = read_page(request, now)
            assert answer.failure is None, answer.failure
            return answer.record

        return read


class Parsel(_Side):
    name = "parsel"

    def prepare(self, page: MadePage) -> Callable[[], Record]:
        from parsel import Selector

        queries = [(each, f"{each.css}::{f'attr({each.attr})' if each.attr else 'text'}") for each in page.fields]

        def read() -> Record:
            selector = Selector(text=page.body.decode())
            return {
                field.name: [_value(field, text) for text in selector.css(query).getall()]
                if field.all
                else _value(field, selector.css(query).get())
                for field, query in queries
            }

        return read


class BeautifulSoupLxml(_Side):
    name = "beautifulsoup, lxml"

    def prepare(self, page: MadePage) -> Callable[[], Record]:
        from bs4 import BeautifulSoup

        def one(field: Field, node: Any) -> str | None:
            if node is None:
                return None
            return _value(field, node.get(field.attr) if field.attr else node.get_text())

        def read() -> Record:
            soup = BeautifulSoup(page.body, "lxml", from_encoding="utf-8")
            return {
                field.name: [one(field, node) for node in soup.select(field.css)]
                if field.all
                else one(field, soup.select_one(field.css))
                for field in page.fields
            }

        return read


class Scrapling(_Side):
    name = "scrapling"

    def prepare(self, page: MadePage) -> Callable[[], Record]:
        from scrapling.parser import Selector

        queries = [(each, f"{each.css}::{f'attr({each.attr})' if each.attr else 'text'}") for each in page.fields]

        def read() -> Record:
            selector = Selector(page.body, url=BASE)
            return {
                field.name: [_value(field, str(text)) for text in selector.css(query).getall()]
                if field.all
                else _value(field, str(selector.css(query).get()))
                for field, query in queries
            }

        return read


class Selectolax(_Side):
    """The parser that Corral uses, without anything around it."""

    name = "bare selectolax"

    def prepare(self, page: MadePage) -> Callable[[], Record]:
        from selectolax.lexbor import LexborHTMLParser

        def one(field: Field, node: Any) -> str | None:
            if node is None:
                return None
            return _value(field, node.attributes.get(field.attr) if field.attr else node.text())

        def read() -> Record:
            tree = LexborHTMLParser(page.body)
            return {
                field.name: [one(field, node) for node in tree.css(field.css)]
                if field.all
                else one(field, tree.css_first(field.css))
                for field in page.fields
            }

        return read
