"""Fields filled from a page: by recipe where there is one, else from what the page says about itself."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from corral.domain.errors import BadInput
from corral.domain.job import FieldSpec
from corral.extract import structured
from corral.extract.page import Page, squeezed
from corral.extract.patterns import searched
from corral.extract.structured import Found, plain

MAX_SELECTOR_CHARS = 1_000
MAX_VALUES = 10_000
_URL_ATTRIBUTES = frozenset({"href", "src", "action", "poster", "data-src"})
# Entered around a selector of the user's, with the place of its field: whoever runs it may limit its time.
Guard = Callable[[int], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Extraction:
    record: dict[str, Any]
    missing: tuple[str, ...]
    dropped: dict[str, int] = field(default_factory=dict)  # by field, how many values were one too many


def compile_check(css: str, *, field: str = "fields") -> str:
    """The selector as given, or BadInput where it cannot be compiled."""
    if len(css) > MAX_SELECTOR_CHARS:
        raise BadInput(
            f"the CSS selector has {len(css)} characters, more than {MAX_SELECTOR_CHARS}",
            field=field,
            hint="use a shorter selector",
            code="bad_selector",
        )
    if not css.strip() or not css.isprintable() or not _compiles(css):
        raise BadInput(
            f"the CSS selector {css[:100]!r} cannot be read",
            field=field,
            hint="use standard CSS such as `.price` or `a.next`; an attribute goes in `attr`, not `::attr()`",
            code="bad_selector",
        )
    return css


def _compiles(css: str) -> bool:
    try:
        LexborHTMLParser("<p></p>").css_first(css)
    except (SelectolaxError, ValueError):
        return False
    return True


def extract_fields(html: str, base_url: str, fields: Sequence[FieldSpec]) -> Extraction:
    return extract_from(Page(html, base_url), fields)


def unguarded(_place: int) -> AbstractContextManager[None]:
    return nullcontext()


def extract_from(
    page: Page, fields: Sequence[FieldSpec], guard: Guard = unguarded, skipped: Collection[int] = ()
) -> Extraction:
    """Every asked field is in the record, None (or an empty list) where it was not found or skipped."""
    said = _Said(page)
    record: dict[str, Any] = {}
    dropped: dict[str, int] = {}
    for place, spec in enumerate(fields):
        values: list[str] = []
        if place not in skipped and not spec.css and not spec.regex:
            values = said.values(spec.name)
        elif place not in skipped:
            with guard(place):
                values = _by_recipe(page, spec)
        if spec.all:
            record[spec.name] = values[:MAX_VALUES]
            if len(values) >= MAX_VALUES and (more := _more_than_kept(page, spec)):
                dropped[spec.name] = more
        else:
            record[spec.name] = values[0] if values else None
    missing = tuple(name for name, value in record.items() if not value)
    return Extraction(record, missing, dropped)


def is_of_links(spec: FieldSpec) -> bool:
    return spec.attr == "href" or (spec.css is None and plain(spec.name) == "links")


def _more_than_kept(page: Page, spec: FieldSpec) -> int:
    """Elements beyond those that were taken, counted and not looked at."""
    css = spec.css or _EVERY.get(plain(spec.name))
    return max(0, len(page.tree.css(css)) - MAX_VALUES) if css and not spec.regex else 0


def _by_recipe(page: Page, spec: FieldSpec) -> list[str]:
    values: list[str] = []
    for text in _texts(page, spec):
        values += searched(spec.regex, text, MAX_VALUES if spec.all else 1) if spec.regex else [text]
        if values and (not spec.all or len(values) >= MAX_VALUES):
            break
    return values


def _texts(page: Page, spec: FieldSpec) -> Iterator[str]:
    """What is found where the recipe says to look; without a selector, the text of the page."""
    if spec.css is None:
        yield page.body_text
        return
    try:
        nodes = page.tree.css(spec.css)
    except (SelectolaxError, ValueError):
        return
    for node in nodes if spec.all else nodes[:100]:
        value = _value_of(page, node, spec.attr)
        if value:
            yield value


def _value_of(page: Page, node: LexborNode, attr: str | None) -> str | None:
    if attr is None:
        return page.text_of(node)
    value = squeezed(node.attributes.get(attr.lower()))
    return page.absolute(value) if value and attr.lower() in _URL_ATTRIBUTES else value


class _Said:
    """What the page says about itself, each source read at most once and only when asked for."""

    def __init__(self, page: Page) -> None:
        self._page = page

    @cached_property
    def _json_ld(self) -> Found:
        return structured.json_ld(self._page)

    @cached_property
    def _metas(self) -> Found:
        return structured.metas(self._page)

    @cached_property
    def _microdata(self) -> Found:
        return structured.microdata(self._page)

    @cached_property
    def _labelled(self) -> Found:
        return structured.labelled(self._page)

    def values(self, name: str) -> list[str]:
        key = plain(name)
        for source in _KNOWN.get(_ALIASES.get(key, key), ()):
            values = source(self)
            if values:
                return values
        return self._named(key) or self._by_markup(name)

    def _named(self, key: str) -> list[str]:
        for found in (self._json_ld, self._microdata, self._metas, self._labelled):
            if found.get(key):
                return found[key]
        return []

    def _by_markup(self, name: str) -> list[str]:
        """An element whose id or class is the name."""
        words = [word for word in (name, name.replace("_", "-"), name.replace(" ", "-")) if _is_word(word)]
        selector = ", ".join(dict.fromkeys(f"#{word}, .{word}" for word in words))
        return _by_recipe(self._page, FieldSpec(name, css=selector, all=True)) if selector else []

    def css(self, selector: str, attr: str | None = None) -> list[str]:
        return _by_recipe(self._page, FieldSpec("", css=selector, attr=attr, all=True))

    def ld(self, *keys: str) -> list[str]:
        return next((self._json_ld[key] for key in keys if key in self._json_ld), [])

    def meta(self, *keys: str) -> list[str]:
        return next((self._metas[key] for key in keys if key in self._metas), [])

    def item(self, *keys: str) -> list[str]:
        return next((self._microdata[key] for key in keys if key in self._microdata), [])

    def urls(self, values: list[str]) -> list[str]:
        return [self._page.absolute(value) for value in values]

    def title(self) -> list[str]:
        return [self._page.title] if self._page.title else []

    def text(self) -> list[str]:
        for selector in ("article", "main", "[role=main]"):
            values = self.css(selector)
            if values and len(values[0]) > 200:
                return values[:1]
        return [self._page.body_text] if self._page.body_text else []

    def own_url(self) -> list[str]:
        return [self._page.base_url] if self._page.base_url else []


def _is_word(text: str) -> bool:
    return text.replace("-", "").replace("_", "").isalnum() and text.isascii() and not text[0].isdigit()


_EVERY = {"links": "a[href]", "images": "img[src]"}
_Source = Callable[[_Said], list[str]]

_KNOWN: dict[str, tuple[_Source, ...]] = {
    "title": (_Said.title, lambda s: s.meta("ogtitle", "twittertitle"), lambda s: s.css("h1")),
    "name": (
        lambda s: s.ld("name"),
        lambda s: s.item("name"),
        lambda s: s.meta("ogtitle"),
        lambda s: s.css("h1"),
    ),
    "headline": (lambda s: s.ld("headline"), lambda s: s.item("headline"), lambda s: s.css("h1")),
    "description": (
        lambda s: s.meta("description", "ogdescription", "twitterdescription"),
        lambda s: s.ld("description"),
        lambda s: s.item("description"),
    ),
    "author": (
        lambda s: s.ld("author", "creator"),
        lambda s: s.meta("author", "articleauthor", "twittercreator"),
        lambda s: s.item("author"),
        lambda s: s.css("a[rel~=author], .author, .byline"),
    ),
    "date": (
        lambda s: s.ld("datepublished", "datecreated", "uploaddate", "startdate"),
        lambda s: s.meta("articlepublishedtime", "date", "pubdate", "publishdate", "dcdate"),
        lambda s: s.item("datepublished", "datecreated"),
        lambda s: s.css("time[datetime]", "datetime"),
        lambda s: s.css("time"),
    ),
    "modified": (
        lambda s: s.ld("datemodified"),
        lambda s: s.meta("articlemodifiedtime", "ogupdatedtime", "lastmodified"),
        lambda s: s.item("datemodified"),
    ),
    "image": (
        lambda s: s.urls(s.meta("ogimage", "ogimageurl", "twitterimage")),
        lambda s: s.urls(s.ld("image", "thumbnailurl")),
        lambda s: s.urls(s.item("image")),
        lambda s: s.css("article img[src], main img[src]", "src"),
        lambda s: s.css("img[src]", "src"),
    ),
    "price": (
        lambda s: s.ld("price", "lowprice"),
        lambda s: s.meta("productpriceamount", "ogpriceamount", "price"),
        lambda s: s.item("price", "lowprice"),
        lambda s: s.css(".price, #price, .price_color, .product-price"),
    ),
    "currency": (
        lambda s: s.ld("pricecurrency"),
        lambda s: s.meta("productpricecurrency", "ogpricecurrency"),
        lambda s: s.item("pricecurrency"),
    ),
    "rating": (lambda s: s.ld("ratingvalue"), lambda s: s.item("ratingvalue")),
    "url": (
        lambda s: s.css("link[rel=canonical]", "href"),
        lambda s: s.urls(s.meta("ogurl")),
        _Said.own_url,
    ),
    "language": (
        lambda s: s.css("html[lang]", "lang"),
        lambda s: s.meta("oglocale", "contentlanguage"),
        lambda s: s.ld("inlanguage"),
    ),
    "text": (_Said.text,),
    "links": (lambda s: s.css(_EVERY["links"], "href"),),
    "images": (lambda s: s.css(_EVERY["images"], "src"),),
    **{f"h{level}": (lambda s, tag=f"h{level}": s.css(tag),) for level in range(1, 7)},  # type: ignore[misc]
}
_ALIASES = {
    "pagetitle": "title",
    "summary": "description",
    "excerpt": "description",
    "byline": "author",
    "writer": "author",
    "published": "date",
    "publishedat": "date",
    "publisheddate": "date",
    "publicationdate": "date",
    "pubdate": "date",
    "datepublished": "date",
    "updated": "modified",
    "updatedat": "modified",
    "datemodified": "modified",
    "thumbnail": "image",
    "picture": "image",
    "cost": "price",
    "canonical": "url",
    "canonicalurl": "url",
    "link": "url",
    "lang": "language",
    "body": "text",
    "content": "text",
    "article": "text",
    "fulltext": "text",
    "heading": "h1",
    "productname": "name",
}
