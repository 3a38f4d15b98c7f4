"""Extractors on the same pages, each from the source of a page to its text, parsing included."""

from __future__ import annotations

import re
import time
from collections import Counter
from itertools import islice

from bench.model import Place, Result
from bench.readable.pages import MadePage, make_pages

_WORD = re.compile(r"\w+")
_RUN = 4  # words


class _Side:
    name = ""

    def __init__(self, place: Place) -> None:
        self._pages = make_pages()

    def extract(self, html: str) -> str:
        raise NotImplementedError

    def measure(self, count: int) -> Result:
        pages = self._pages
        self.extract(pages[0].html)
        began = time.perf_counter()
        for number in range(count):
            self.extract(pages[number % len(pages)].html)
        took_s = time.perf_counter() - began
        scores = [_score(page, self.extract(page.html)) for page in pages]
        precision = sum(score[0] for score in scores) / len(scores)
        recall = sum(score[1] for score in scores) / len(scores)
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        metrics = {"f1": f1, "precision": precision, "recall": recall}
        return Result(count / took_s, count, took_s, f"{len(pages)} pages, one core", metrics)


class Corral(_Side):
    name = "corral"

    def extract(self, html: str) -> str:
        from corral.extract.page import Page
        from corral.extract.readable import readable_of

        return readable_of(Page(html)).text


class Trafilatura(_Side):
    name = "trafilatura"

    def extract(self, html: str) -> str:
        import trafilatura

        return trafilatura.extract(html, include_comments=False, include_tables=True) or ""


class ReadabilityLxml(_Side):
    name = "readability-lxml"

    def extract(self, html: str) -> str:
        from lxml.html import fromstring
        from readability import Document

        return " ".join(fromstring(Document(html).summary()).itertext())


class Resiliparse(_Side):
    name = "resiliparse"

    def extract(self, html: str) -> str:
        from resiliparse.extract.html2text import extract_plain_text

        return str(extract_plain_text(html, main_content=True))


def _score(page: MadePage, text: str) -> tuple[float, float]:
    wanted, found = _runs(page.text), _runs(text)
    both = (wanted & found).total()
    return both / found.total() if found else 0.0, both / wanted.total()


def _runs(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    return Counter(zip(*(islice(words, start, None) for start in range(_RUN)), strict=False))
