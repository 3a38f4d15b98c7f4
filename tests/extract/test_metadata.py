"""What is not mentioned is not looked for: so it must be mentioned wherever it is."""

from itertools import permutations, product

import pytest

from corral.extract.links import links_of
from corral.extract.page import GUARD_WORDS, SCRIPT_WORDS, WORDS, Page
from corral.extract.readable.article import article_of

TEXT = "A sentence of some length, of which there are many on this page. " * 10


def test_no_word_hides_the_beginning_of_another() -> None:
    """Of two that overlap only the first is found. By a letter or two they may: nothing is spelled like that."""
    for first, second in permutations(WORDS, 2):
        shared = range(3, min(len(first), len(second)))
        overlap = any(first.endswith(second[:size]) for size in shared) or first in second
        # Of the words for guards any one is as good as another.
        assert not overlap or {first, second} <= set(GUARD_WORDS), (first, second)


def test_no_other_word_of_a_guard_takes_the_separator_that_one_of_a_script_begins_with() -> None:
    for first, second in product(set(GUARD_WORDS) - set(SCRIPT_WORDS), SCRIPT_WORDS):
        assert first[-1:].isalpha() or not second.startswith(first[-1:]), (first, second)


@pytest.mark.parametrize("word", WORDS)
def test_every_word_is_found_however_it_is_written(word: bytes) -> None:
    for text in (word.decode(), word.decode().upper(), f"ä{word.decode().title()}ß"):
        assert Page(f"<p>x {text} y</p>", is_flat=True).mentioned == {word}
    assert not Page("<p>nothing of the kind</p>", is_flat=True).mentioned


@pytest.mark.parametrize("tag", ["script", "style", "noscript", "nav", "footer", "aside", "form", "svg"])
def test_what_surrounds_a_text_is_left_out(tag: str) -> None:
    for name in (tag, tag.upper()):
        page = Page(f"<main><p>{TEXT}</p><{name}>elsewhere</{name}></main>")
        assert article_of(page).text == TEXT.strip()


def test_what_is_hidden_is_left_out() -> None:
    assert article_of(Page(f"<main><p>{TEXT}</p><p HIDDEN>elsewhere</p></main>")).text == TEXT.strip()


@pytest.mark.parametrize(
    "html",
    ["<body><article>{}</article>", "<body><MAIN>{}</MAIN>", "<body><div ROLE=main>{}</div>", "<body><div>{}</div>"],
)
def test_the_main_part_is_found_by_any_of_its_names(html: str) -> None:
    page = Page(f"<div>elsewhere</div>{html.format(f'<p>{TEXT}</p>')}")
    assert article_of(page).text == TEXT.strip()


def test_every_kind_of_link_is_found() -> None:
    page = Page('<A HREF="/a">x</A><map><AREA HREF="/area"></map>', "http://a.test/")
    assert links_of(page).references == ("/a", "/area")
    assert links_of(Page('<frameset><FRAME SRC="/frame"></frameset>')).references == ("/frame",)


def test_a_base_and_what_robots_are_told_are_found_anywhere() -> None:
    page = Page('<body><p>x</p><BASE HREF="/there/"><META NAME=Robots CONTENT="noindex, nofollow">', "http://a.test/")
    told = links_of(page)
    assert told.base_url == "http://a.test/there/"
    assert told.directives == (True, True)
