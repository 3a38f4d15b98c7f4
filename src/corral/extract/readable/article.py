"""The title and text of a document as a crawl records them."""

from typing import NamedTuple

from corral.extract.page import Page
from corral.extract.readable.readable import readable_of


class Article(NamedTuple):
    title: str | None
    text: str
    word_count: int
    char_count: int


def article_of(page: Page) -> Article:
    title = page.title or page.text_of(page.tree.css_first("h1"))
    return make_article(title, readable_of(page).text)


def make_article(title: str | None, text: str) -> Article:
    return Article(title, text, word_count=len(text.split()), char_count=len(text))
