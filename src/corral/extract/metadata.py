"""What a page says about itself under the names that people give to fields."""

from collections.abc import Callable
from functools import cached_property
from itertools import islice

from corral.extract import structured
from corral.extract.page import Page
from corral.extract.structured import Found, plain

MAX_VALUES = 10_000
# How many matches of a selector are tried for one that has a value.
MAX_TRIED = 100


class PageMetadata:
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
    def _label_rows(self) -> Found:
        return structured.label_rows(self._page)

    def values(self, name: str) -> list[str]:
        key = plain(name)
        for source in _KNOWN.get(canonical(name), ()):
            values = source(self)
            if values:
                return values
        return self._find_by_key(key) or self._by_markup(name)

    def _find_by_key(self, key: str) -> list[str]:
        for found in (self._json_ld, self._microdata, self._metas, self._label_rows):
            if found.get(key):
                return found[key]
        return []

    def _by_markup(self, name: str) -> list[str]:
        """An element whose id or class is the name."""
        words = [word for word in (name, name.replace("_", "-"), name.replace(" ", "-")) if _is_word(word)]
        selector = ", ".join(dict.fromkeys(f"#{word}, .{word}" for word in words))
        return self.css(selector) if selector else []

    def css(self, selector: str, attr: str | None = None) -> list[str]:
        found = (self._page.value_of(node, attr) for node in self._page.by_css(selector))
        return list(islice((value for value in found if value), MAX_VALUES))

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


def canonical(name: str) -> str:
    """The one of several names for the same thing."""
    key = plain(name)
    return _ALIASES.get(key, key)


def _is_word(text: str) -> bool:
    return text.replace("-", "").replace("_", "").isalnum() and text.isascii() and not text[0].isdigit()


EVERY = {"links": "a[href]", "images": "img[src]"}
_Source = Callable[[PageMetadata], list[str]]

_KNOWN: dict[str, tuple[_Source, ...]] = {
    "title": (PageMetadata.title, lambda s: s.meta("ogtitle", "twittertitle"), lambda s: s.css("h1")),
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
        PageMetadata.own_url,
    ),
    "language": (
        lambda s: s.css("html[lang]", "lang"),
        lambda s: s.meta("oglocale", "contentlanguage"),
        lambda s: s.ld("inlanguage"),
    ),
    "text": (PageMetadata.text,),
    "links": (lambda s: s.css(EVERY["links"], "href"),),
    "images": (lambda s: s.css(EVERY["images"], "src"),),
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
