"""Pages with ten fields each, of four kinds and sizes, and the values that every side must find."""

from __future__ import annotations

import random
from typing import NamedTuple

BASE = "https://shop.test/some/page.html"
_WORDS = "amber basin cedar delta ember fjord grove heath inlet jetty knoll ledge meadow".split()  # noqa: SIM905


class Field(NamedTuple):
    name: str
    css: str
    attr: str | None = None
    all: bool = False


class MadePage(NamedTuple):
    kind: str
    body: bytes
    fields: tuple[Field, ...]
    record: dict[str, str | list[str]]


def make_pages() -> list[MadePage]:
    return [_product(), _article(), _list(), _reference()]


def _text(dice: random.Random, words: int) -> str:
    return " ".join(dice.choices(_WORDS, k=words)).capitalize() + "."


def _links(dice: random.Random, count: int) -> str:
    return "".join(f'<li><a href="/{dice.choice(_WORDS)}/{n}">{dice.choice(_WORDS)}</a></li>' for n in range(count))


def _page(dice: random.Random, title: str, content: str, links: int) -> bytes:
    head = f'<head><meta charset="utf-8"><title>{title}</title><link rel="canonical" href="/here"></head>'
    nav = f'<nav><ul class="menu">{_links(dice, links)}</ul></nav>'
    footer = f'<footer><p class="legal">{_text(dice, 12)}</p></footer>'
    body = f'<body>{nav}<main class="content">{content}</main>{footer}</body>'
    return f'<!doctype html><html lang="en">{head}{body}</html>'.encode()


def _product() -> MadePage:
    dice = random.Random(1)
    record: dict[str, str | list[str]] = {
        "name": "Amber lamp",
        "price": "49.90",
        "sku": "LAMP-17",
        "brand": "Fjord",
        "stock": "In stock",
        "rating": "4.6",
        "image": "https://shop.test/img/lamp.jpg",
        "summary": _text(dice, 30),
        "features": [_text(dice, 6) for _ in range(5)],
        "related": [f"https://shop.test/product/{n}" for n in range(8)],
    }
    features = "".join(f"<li>{each}</li>" for each in record["features"])
    related = "".join(f'<a class="related" href="/product/{n}">{_text(dice, 3)}</a>' for n in range(8))
    text = "".join(f"<p>{_text(dice, 40)}</p>" for _ in range(6))
    content = (
        f'<h1 class="name">Amber lamp</h1><img id="photo" src="/img/lamp.jpg"><div class="buy"><span class="price">'
        f'49.90</span><span class="stock">In stock</span></div><span data-sku="LAMP-17" class="sku">Article</span>'
        f'<a class="brand" href="/brand">Fjord</a><div class="rating"><b>4.6</b></div>'
        f'<p class="summary">{record["summary"]}</p><ul class="features">{features}</ul>'
        f'<div class="text">{text}</div><div>{related}</div>'
    )
    fields = (
        Field("name", "h1.name"),
        Field("price", ".buy .price"),
        Field("sku", ".sku", "data-sku"),
        Field("brand", "a.brand"),
        Field("stock", ".buy > .stock"),
        Field("rating", ".rating b"),
        Field("image", "#photo", "src"),
        Field("summary", "p.summary"),
        Field("features", "ul.features li", all=True),
        Field("related", "a.related", "href", all=True),
    )
    return MadePage("product", _page(dice, "Amber lamp", content, 15), fields, record)


def _article() -> MadePage:
    dice = random.Random(2)
    record: dict[str, str | list[str]] = {
        "headline": _text(dice, 7),
        "author": "Jane Doe",
        "author_url": "https://shop.test/people/jane",
        "date": "2026-05-03",
        "section": "Harbour",
        "lead": _text(dice, 25),
        "caption": _text(dice, 9),
        "paragraphs": [_text(dice, 60) for _ in range(14)],
        "headings": [_text(dice, 4) for _ in range(4)],
        "tags": [f"{word}" for word in _WORDS[:6]],
    }
    paragraphs = "".join(f'<p class="par">{each}</p>' for each in record["paragraphs"])
    headings = "".join(f"<h2>{each}</h2>" for each in record["headings"])
    tags = "".join(f'<a rel="tag" href="/tag/{each}">{each}</a>' for each in record["tags"])
    content = (
        f'<article><h1>{record["headline"]}</h1><div class="byline"><a rel="author" href="/people/jane">Jane Doe</a>'
        f'<time datetime="2026-05-03">3 May</time></div><span class="section">Harbour</span>'
        f'<p class="lead">{record["lead"]}</p><figure><img src="/a.jpg"><figcaption>{record["caption"]}</figcaption>'
        f'</figure><div class="body">{paragraphs}{headings}</div><div class="tags">{tags}</div></article>'
    )
    fields = (
        Field("headline", "article h1"),
        Field("author", "a[rel=author]"),
        Field("author_url", "a[rel=author]", "href"),
        Field("date", ".byline time", "datetime"),
        Field("section", "span.section"),
        Field("lead", "p.lead"),
        Field("caption", "figure figcaption"),
        Field("paragraphs", ".body p.par", all=True),
        Field("headings", ".body h2", all=True),
        Field("tags", '.tags a[rel="tag"]', all=True),
    )
    return MadePage("article", _page(dice, "Article", content, 30), fields, record)


def _list() -> MadePage:
    dice = random.Random(3)
    count = 60
    names = [f"Lamp {n}" for n in range(count)]
    record: dict[str, str | list[str]] = {
        "title": "All lamps",
        "count": "60 lamps",
        "names": names,
        "prices": [f"{10 + n}.50" for n in range(count)],
        "urls": [f"https://shop.test/lamp/{n}" for n in range(count)],
        "images": [f"https://shop.test/img/{n}.jpg" for n in range(count)],
        "badges": [f"badge {n}" for n in range(0, count, 5)],
        "ids": [f"id-{n}" for n in range(count)],
        "next": "https://shop.test/lamps?page=2",
        "first": "Lamp 0",
    }
    cards = "".join(
        f'<div class="card" data-id="id-{n}"><a class="title" href="/lamp/{n}">Lamp {n}</a><img src="/img/{n}.jpg">'
        f'<span class="price">{10 + n}.50</span>{f"<em>badge {n}</em>" if n % 5 == 0 else ""}'
        f"<p>{_text(dice, 12)}</p></div>"
        for n in range(count)
    )
    content = (
        f'<h1>All lamps</h1><p id="count">60 lamps</p><div class="cards">{cards}</div>'
        '<a class="next" href="/lamps?page=2">Next</a>'
    )
    fields = (
        Field("title", "main h1"),
        Field("count", "#count"),
        Field("names", ".cards .card a.title", all=True),
        Field("prices", ".card .price", all=True),
        Field("urls", ".card a.title", "href", all=True),
        Field("images", ".card img", "src", all=True),
        Field("badges", ".card em", all=True),
        Field("ids", "div.card", "data-id", all=True),
        Field("next", "a.next", "href"),
        Field("first", "div.card:nth-of-type(1) a.title"),
    )
    return MadePage("list", _page(dice, "Lamps", content, 40), fields, record)


def _reference() -> MadePage:
    dice = random.Random(4)
    members = [f"member_{n}" for n in range(80)]
    record: dict[str, str | list[str]] = {
        "module": "module lamps",
        "version": "3.14",
        "summary": _text(dice, 20),
        "members": members,
        "anchors": [f"m-{n}" for n in range(80)],
        "signatures": [f"(value, *, of={n})" for n in range(80)],
        "headings": [f"Part {n}" for n in range(8)],
        "source": "https://shop.test/src/lamps.py",
        "examples": [f"print({n})" for n in range(8)],
        "legal": "",
    }
    parts = []
    for at in range(8):
        entries = "".join(
            f'<dl class="py"><dt id="m-{n}"><code class="name">member_{n}</code><em class="sig">(value, *, of={n})</em>'
            f'</dt><dd><p>{_text(dice, 45)} <code>{dice.choice(_WORDS)}</code> <a href="#x">{_text(dice, 3)}</a></p>'
            f"<p>{_text(dice, 30)}</p></dd></dl>"
            for n in range(at * 10, at * 10 + 10)
        )
        parts.append(f'<section id="p{at}"><h2>Part {at}</h2><pre class="example">print({at})</pre>{entries}</section>')
    content = (
        f'<h1>module lamps</h1><span class="version">3.14</span><p class="summary">{record["summary"]}</p>'
        f'<a class="source" href="/src/lamps.py">Source</a>{"".join(parts)}'
    )
    body = _page(dice, "lamps", content, 60)
    legal = body.decode().partition('<p class="legal">')[2].partition("</p>")[0]
    fields = (
        Field("module", "h1"),
        Field("version", "span.version"),
        Field("summary", "p.summary"),
        Field("members", "dt code.name", all=True),
        Field("anchors", "dl.py > dt", "id", all=True),
        Field("signatures", "dt em.sig", all=True),
        Field("headings", "section > h2", all=True),
        Field("source", "a.source", "href"),
        Field("examples", "pre.example", all=True),
        Field("legal", "footer p.legal"),
    )
    return MadePage("reference", body, fields, {**record, "legal": legal})
