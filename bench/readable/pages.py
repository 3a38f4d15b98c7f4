"""Pages with a known text: made-up content in layouts that sites and generators of documentation use."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

_WORDS = (
    "horse meadow barn evening farmer winter river bridge engine signal window garden teacher market letter harbour"
)
_VERBS = "reaches follows crosses repairs describes changes carries finds leaves returns measures opens"
_PAGES = 40


class MadePage(NamedTuple):
    html: str
    text: str


class _Section(NamedTuple):
    heading: str
    paragraphs: list[str]
    items: list[str]
    code: str


def make_pages() -> list[MadePage]:
    made = random.Random(16)
    return [_LAYOUTS[number % len(_LAYOUTS)](made, number) for number in range(_PAGES)]


def _word(made: random.Random) -> str:
    return made.choice(_WORDS.split())


def _sentence(made: random.Random) -> str:
    words = [_word(made) for _ in range(made.randint(5, 14))]
    return f"The {words[0]} {made.choice(_VERBS.split())} the {' '.join(words[1:])}."


def _section(made: random.Random, number: int) -> _Section:
    paragraphs = [" ".join(_sentence(made) for _ in range(made.randint(2, 5))) for _ in range(made.randint(2, 5))]
    items = [f"{_word(made)} {_word(made)} {number}" for _ in range(4)]
    code = "\n".join(f"{_word(made)}_{line} = {made.randint(1, 99)}" for line in range(3))
    return _Section(f"About the {_word(made)} {number}", paragraphs, items, code)


def _text(sections: list[_Section]) -> str:
    parts = [[each.heading, *each.paragraphs, *each.items, each.code] for each in sections]
    return "\n".join(part for section in parts for part in section)


def _body(section: _Section, level: int = 2) -> str:
    paragraphs = "".join(f"<p>{text}</p>" for text in section.paragraphs)
    items = "".join(f"<li>{text}</li>" for text in section.items)
    return f"<h{level}>{section.heading}</h{level}>{paragraphs}<ul>{items}</ul><pre><code>{section.code}</code></pre>"


def _links(made: random.Random, count: int, folder: str = "/") -> str:
    return "".join(
        f'<li><a href="{folder}{_word(made)}-{at}.html">{_word(made)} {_word(made)}</a></li>' for at in range(count)
    )


def _cards(made: random.Random) -> str:
    return "".join(
        f'<div><h3><a href="/story-{at}">{_sentence(made)}</a></h3><p>{_sentence(made)}</p></div>' for at in range(5)
    )


def _sections(made: random.Random) -> list[_Section]:
    return [_section(made, number) for number in range(made.randint(2, 5))]


def _page(title: str, body: str) -> str:
    return f'<!doctype html><html lang="en"><head><title>{title}</title></head><body>{body}</body></html>'


def _news(made: random.Random, number: int) -> MadePage:
    sections = _sections(made)
    content = "".join(map(_body, sections))
    return MadePage(
        _page(
            f"News {number}",
            f'<header><ul class="menu">{_links(made, 20)}</ul></header>'
            f'<div id="cookie-bar"><p>{_sentence(made)}</p></div>'
            f'<main><article><div class="byline">By A. Writer, 3 May 2026</div><div class="share">Share</div>{content}'
            f'<div class="author-bio"><p>{_sentence(made)}</p></div></article>'
            f"<h2>More stories</h2>{_cards(made)}</main>"
            f"<aside><ul>{_links(made, 10)}</ul></aside><footer><p>{_sentence(made)}</p></footer>",
        ),
        _text(sections),
    )


def _blog(made: random.Random, number: int) -> MadePage:
    sections = _sections(made)
    content = "".join(map(_body, sections))
    comments = "".join(f'<li class="comment" id="comment-{at}"><p>{_sentence(made)}</p></li>' for at in range(4))
    return MadePage(
        _page(
            f"Blog {number}",
            f'<div id="page" class="has-sidebar"><div id="nav"><ul>{_links(made, 8)}</ul></div>'
            f'<div class="post-{number}">'
            f'<div class="entry">{content}<p>Read also: <a href="/x">{_sentence(made)}</a></p></div>'
            f'<div id="comments"><h3>4 comments</h3><ol>{comments}</ol></div></div>'
            f'<div id="sidebar"><ul>{_links(made, 30)}</ul></div></div>',
        ),
        _text(sections),
    )


def _div_soup(made: random.Random, number: int) -> MadePage:
    sections = _sections(made)
    content = "".join(
        f"<b>{each.heading}</b><br><br>{'<br><br>'.join(each.paragraphs)}<br>{'<br>'.join(each.items)}"
        f"<pre>{each.code}</pre>"
        for each in sections
    )
    table = f"<table><tr><td><ul>{_links(made, 15)}</ul></td><td><div>{content}</div></td></tr></table>"
    return MadePage(_page(f"Old page {number}", table), _text(sections))


def _sphinx(made: random.Random, number: int) -> MadePage:
    sections = _sections(made)
    content = "".join(f'<section id="s{at}">{_body(each)}</section>' for at, each in enumerate(sections))
    nav = f'<div class="related" role="navigation"><ul>{_links(made, 6, "")}</ul></div>'
    side = f'<div class="sphinxsidebar" role="navigation"><ul>{_links(made, 25, "")}</ul></div>'
    main = f'<div class="document"><div class="body" role="main"><section>{content}</section></div></div>'
    return MadePage(_page(f"Docs {number}", nav + main + side), _text(sections))


def _docbook(made: random.Random, number: int) -> MadePage:
    sections = _sections(made)
    content = "".join(f'<div class="sect2"><div class="titlepage"></div>{_body(each, 3)}</div>' for each in sections)
    nav = '<div class="{}"><table><tr><td><a href="a.html">Prev</a></td><td>Up</td></tr></table></div>'
    body = f'{nav.format("navheader")}<div class="sect1">{content}</div>{nav.format("navfooter")}'
    return MadePage(_page(f"Chapter {number}", body), _text(sections))


def _doxygen(made: random.Random, number: int) -> MadePage:
    sections = _sections(made)
    content = "".join(f'<div class="memitem"><div class="memdoc">{_body(each)}</div></div>' for each in sections)
    nav = f'<div id="top"><div id="main-nav"><ul>{_links(made, 12, "")}</ul></div></div>'
    foot = '<div id="nav-path" class="navpath"><ul><li class="footer">Generated</li></ul></div>'
    return MadePage(_page(f"Reference {number}", f'{nav}<div class="contents">{content}</div>{foot}'), _text(sections))


def _rustdoc(made: random.Random, number: int) -> MadePage:
    sections = _sections(made)
    content = "".join(f'<div class="docblock">{_body(each)}</div>' for each in sections)
    nav = f'<nav class="sidebar"><ul>{_links(made, 25, "")}</ul></nav>'
    main = f'<main><section id="main-content" class="content">{content}</section></main>'
    return MadePage(_page(f"Struct {number}", nav + main), _text(sections))


def _wiki(made: random.Random, number: int) -> MadePage:
    sections = _sections(made)
    content = "".join(map(_body, sections))
    side = f'<div id="mw-navigation"><ul>{_links(made, 30, "/wiki/")}</ul></div>'
    foot = f'<div id="catlinks" class="catlinks"><ul>{_links(made, 5)}</ul></div><div id="footer">Imprint</div>'
    return MadePage(_page(f"Wiki {number}", f'<div id="content">{content}{foot}</div>{side}'), _text(sections))


_LAYOUTS: tuple[Callable[[random.Random, int], MadePage], ...] = (
    *(_news, _blog, _div_soup, _sphinx, _docbook, _doxygen, _rustdoc, _wiki),
)
