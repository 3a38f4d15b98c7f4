"""Where a page leads, and what it asks of those who follow."""

import re
from functools import lru_cache
from typing import NamedTuple

from corral.extract.page import Page

MAX_LINKS = 10_000
_REMEMBERED = 8_192
_REMEMBERED_CHARS = 200
_MAX_TEXT_CHARS = 200
_SPACE = " \t\n\r\f"
_BREAKS = re.compile("[\t\n\r]")
# Nothing that could be fetched begins like this, whatever follows.
_ELSEWHERE = re.compile("(?:javascript|mailto|tel|data|about|blob|sms|ftp|file):", re.IGNORECASE)


class Directives(NamedTuple):
    """What a robots meta element or an X-Robots-Tag header says."""

    noindex: bool = False
    nofollow: bool = False

    def also(self, other: "Directives") -> "Directives":
        return Directives(self.noindex or other.noindex, self.nofollow or other.nofollow)


class Links(NamedTuple):
    """Plain values, for it crosses a process boundary. References are as written, without fragment, each once."""

    references: tuple[str, ...]
    nofollow: frozenset[str]  # those that are linked with rel=nofollow only
    dropped: int  # beyond the limit
    base_url: str
    canonical: str | None
    directives: Directives


def links_of(page: Page, *, limit: int = MAX_LINKS) -> Links:
    """Links of `a`, `area` and `frame` in the order of the page. What an `iframe` shows is no page of the site."""
    found: dict[str, bool] = {}
    dropped: set[str] = set()
    followed = {""}  # as they are written; of those there is nothing more to learn, and most links of a page are such
    for node in page.tree.css(_leading(page)):
        attributes = node.attributes
        written = (attributes.get("href") or attributes.get("src") or "").partition("#")[0]
        if written in followed:
            continue
        # Most links of a page are on others, too; what is longer is not worth remembering.
        reference = _cleaned_before(written) if len(written) <= _REMEMBERED_CHARS else _cleaned(written)
        if not reference:
            continue
        rel = attributes.get("rel")
        is_followed = rel is None or "nofollow" not in rel.lower().split()
        if reference not in found and len(found) >= limit:
            dropped.add(reference)
            continue
        # One link that may be followed is enough.
        found[reference] = is_followed or found.get(reference, False)
        if is_followed:
            followed.add(written)
    return Links(
        references=tuple(found),
        nofollow=frozenset(reference for reference, is_followed in found.items() if not is_followed),
        dropped=len(dropped),
        base_url=page.base_url,
        canonical=_canonical(page),
        directives=_directives(page),
    )


def _leading(page: Page) -> str:
    areas = ", area[href]" if b"<area" in page.mentioned else ""
    frames = ", frame[src]" if b"<frame" in page.mentioned else ""
    return f"a[href]{areas}{frames}"


def link_texts(page: Page) -> dict[str, str]:
    """By reference, the text of the first link that has any."""
    texts: dict[str, str] = {}
    for node in page.tree.css("a[href]"):
        reference = _cleaned(node.attributes.get("href") or "")
        if reference and not texts.get(reference):
            texts[reference] = node.text(deep=True)[:_MAX_TEXT_CHARS]
    return texts


def directives_of(text: str) -> Directives:
    """Of the content of a robots meta element, or of an X-Robots-Tag header that names no robot or every robot."""
    words = {word.strip().lower() for word in text.split(",")}
    return Directives(
        noindex=not words.isdisjoint({"noindex", "none"}),
        nofollow=not words.isdisjoint({"nofollow", "none"}),
    )


def _cleaned(reference: str) -> str:
    """As browsers read an attribute: outer space and inner line breaks are not meant. Empty where nothing is left."""
    text = reference.partition("#")[0].strip(_SPACE)
    if not text.isprintable():
        text = _BREAKS.sub("", text)
    return "" if ":" in text[:11] and _ELSEWHERE.match(text) else text


_cleaned_before = lru_cache(maxsize=_REMEMBERED)(_cleaned)


def _canonical(page: Page) -> str | None:
    head = page.tree.head if b"canonical" in page.mentioned else None
    for node in head.css("link[rel][href]") if head is not None else ():
        attributes = node.attributes
        if "canonical" in (attributes.get("rel") or "").lower().split():
            return _cleaned(attributes.get("href") or "") or None
    return None


def _directives(page: Page) -> Directives:
    found = Directives()
    # Anywhere: search engines obey those in a broken head, too, which the parser puts into the body.
    for node in page.tree.css("meta[name][content]") if b"robots" in page.mentioned else ():
        attributes = node.attributes
        if (attributes.get("name") or "").strip().lower() == "robots":
            found = found.also(directives_of(attributes.get("content") or ""))
    return found
