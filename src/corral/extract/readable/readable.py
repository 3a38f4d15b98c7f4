"""The readable content of a page. Each form is computed on first access."""

from corral.extract.charset import clean_text
from corral.extract.lazy import lazy_property
from corral.extract.page import Page
from corral.extract.readable import details
from corral.extract.readable.as_html import HtmlRenderer
from corral.extract.readable.as_markdown import MarkdownRenderer
from corral.extract.readable.as_text import render_text
from corral.extract.readable.blocks import Block
from corral.extract.readable.choose import choose_main, find_lead, start_of
from corral.extract.readable.prune import prune
from corral.extract.readable.reader import BlockReader
from corral.extract.value_limit import capture_limit

_MIN_CHARS = 250  # a shorter main part is a teaser, or the real content has a misleading name
_FEW_SENTENCES = 400
_SMALL_PART = 0.3


class Readable:
    def __init__(self, page: Page) -> None:
        self._page = page

    @lazy_property
    def _main(self) -> Block | None:
        reader = BlockReader(self._page)
        root = reader.read()
        if root is None:
            return None
        main = _extract(root, reader.hints)
        if main.chars >= _MIN_CHARS:
            return main
        # Retry without regard to names: the comments of a forum are its content, and any name may be misleading.
        reader = BlockReader(self._page, is_strict=False)
        other = reader.read()
        if other is None or other.good <= 2 * main.good:
            return main
        return _extract(other, reader.hints)

    @lazy_property
    def text(self) -> str:
        """A line for each paragraph, heading, item and row; code keeps its lines."""
        return "" if self._main is None else _fit(render_text(self._main))

    @lazy_property
    def markdown(self) -> str:
        return "" if self._main is None else _fit(MarkdownRenderer(self._page).render(self._main))

    @lazy_property
    def html(self) -> str:
        return "" if self._main is None else _fit(HtmlRenderer(self._page).render(self._main))

    @lazy_property
    def title(self) -> str | None:
        return details.title_of(self._page)

    @lazy_property
    def author(self) -> str | None:
        return details.author_of(self._page)

    @lazy_property
    def date(self) -> str | None:
        return details.date_of(self._page)

    @lazy_property
    def language(self) -> str | None:
        return details.language_of(self._page)


def readable_of(page: Page) -> Readable:
    return Readable(page)


def _extract(root: Block, hints: list[Block]) -> Block:
    main = choose_main(root, hints)
    if main.good < _FEW_SENTENCES and main.chars < _SMALL_PART * root.chars:
        return start_of(root, hints)  # the page is a list of links, such as an index or a site map
    lead = find_lead(root, main) if main is not root else []
    prune(main)
    if lead and main.kids is not None and sum(leaf.chars for leaf in lead) < main.chars:
        main.kids = lead + main.kids
    return main


def _fit(text: str) -> str:
    return clean_text(text[: capture_limit()]).strip()
