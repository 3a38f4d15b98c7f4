"""Title, author, date and language of an article."""

import re

from corral.extract.page import Page, normalize_space

_SEPARATOR = re.compile(r"\s+[|–—·•»:-]\s+|\s*[|»]\s*")
_BY = re.compile(r"^(?:by|von|par|por|di|door|av|af|przez)\s+", re.IGNORECASE)
_MAX_AUTHOR_CHARS = 100
_DATES = (
    ('meta[property="article:published_time"]', "content"),
    ('meta[name="date"], meta[name="DC.date"], meta[name="dc.date"], meta[name="pubdate"]', "content"),
    ('[itemprop="datePublished"]', "datetime"),
    ('[itemprop="datePublished"]', "content"),
    ("article time[datetime], main time[datetime]", "datetime"),
    ("time[datetime]", "datetime"),
)
_AUTHORS = (
    ('meta[name="author"]', "content"),
    ('[itemprop="author"] [itemprop="name"]', None),
    ('[itemprop="author"]', None),
    ('a[rel~="author"]', None),
    (".byline .author, .author-name, .byline, .author", None),
)


def title_of(page: Page) -> str | None:
    """Return the headline: the <title>, without the name of the site if og:title or the first heading confirm it."""
    full = page.title
    heading = page.text_of(page.tree.css_first("h1"))
    if not full:
        return heading or _first(page, 'meta[property="og:title"]', "content")
    parts = [part for part in _SEPARATOR.split(full) if part]
    if len(parts) < 2:
        return full
    headline = _first(page, 'meta[property="og:title"]', "content") or heading
    return headline if headline and len(headline) < len(full) and headline.casefold() in full.casefold() else full


def author_of(page: Page) -> str | None:
    for selector, attribute in _AUTHORS:
        value = _first(page, selector, attribute)
        if value and len(value) <= _MAX_AUTHOR_CHARS and "://" not in value:
            return _BY.sub("", value)
    return None


def date_of(page: Page) -> str | None:
    return next((value for selector, attribute in _DATES if (value := _first(page, selector, attribute))), None)


def language_of(page: Page) -> str | None:
    return _first(page, "html[lang]", "lang") or _first(page, 'meta[property="og:locale"]', "content")


def _first(page: Page, selector: str, attribute: str | None) -> str | None:
    node = page.tree.css_first(selector)
    if node is None:
        return None
    return page.text_of(node) if attribute is None else normalize_space(node.attributes.get(attribute))
