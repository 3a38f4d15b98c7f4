"""Answers for the tests of the verdict: recorded pages, and small ones built on the spot."""

from datetime import UTC, datetime
from pathlib import Path

from corral.extract.classify.page_classifier import ClassifierInput
from corral.extract.read_time import ReadTime

READ_TIME = ReadTime(datetime(2026, 3, 1, 12, tzinfo=UTC), 1_000.0)

URL = "https://shop.example/things/42"
SENTENCE = "The grey mare walked down to the river and drank for a long time before she looked up. "
LONG = "".join(f"<p>{SENTENCE * 6}</p>" for _ in range(5))
MENU = "<nav>" + "".join(f'<a href="/m/{n}">Department {n}</a> ' for n in range(12)) + "</nav>"
FOOTER = "<footer>All rights reserved. " + SENTENCE * 3 + '<a href="/imprint">Imprint</a></footer>'


def answer(
    html: str,
    *,
    status: int = 200,
    content_type: str = "text/html; charset=utf-8",
    url: str = URL,
    asked: str = URL,
    title: str | None = None,
    **headers: str,
) -> ClassifierInput:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ClassifierInput(status, named, content_type, url, asked, html, title)


def html(title: str, body: str, head: str = "") -> str:
    return f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


def read_page(name: str) -> str:
    return (Path(__file__).parent / f"{name}.html").read_text(encoding="utf-8")
