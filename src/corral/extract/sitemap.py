"""Read sitemaps: the URLs that a site lists, checked against the scope of the crawl. XML entities are not expanded."""

import zlib
from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.item import MAX_SITEMAP_LEVEL, PAGE, short_key, sitemap_kind
from corral.domain.crawl.score import age_in_days
from corral.domain.errors import BadInput
from corral.domain.net.canonical import link_to
from corral.domain.net.url import Target, parse_target
from corral.extract.charset import decode
from corral.extract.crawl_page import rank_of
from corral.extract.xml.prolog import encoding_of_xml, prolog_of

MAX_BYTES = 50 * 1024 * 1024  # unpacked
MAX_URLS = 50_000
_MAX_CHARS = 8 * 1024 * 1024  # of all addresses together
_MAX_LASTMOD_CHARS = 40
_GZIP = b"\x1f\x8b"


class NotASitemap(Exception):
    """The document is not a sitemap, or cannot be read; `fault` is the fault code of the reading."""

    def __init__(self, reason: str, fault: str) -> None:
        super().__init__(reason)
        self.fault = fault


class SitemapEntry(NamedTuple):
    loc: str
    lastmod: str | None = None
    priority: float | None = None


def read_sitemap(  # noqa: PLR0917 - the parts of one reading
    body: bytes, content_type: str, url: str, plan: CrawlPlan, level: int, today: date
) -> dict[str, Any]:
    """Return `found`, as fields of domain.crawl.item.DiscoveredLink: pages, or the sitemaps that an index lists."""
    text, is_whole = _text(body, content_type)
    is_index, entries = _entries(text)
    try:
        base = parse_target(url)
    except BadInput:
        return {"found": [], "listed": 0, "dropped": 0}
    found: dict[str, list[Any]] = {}
    listed = dropped = url_chars = 0
    for entry in entries:
        listed += 1
        if len(found) >= MAX_URLS or url_chars > _MAX_CHARS:
            dropped += 1
            continue
        link = _sitemap(base, entry, level + 1) if is_index else _page(base, entry, plan, today)
        if link is not None and link[1] not in found:
            found[link[1]] = link
            url_chars += len(link[0])
    result = {"found": list(found.values()), "listed": listed, "dropped": dropped}
    return result if is_whole and _is_closed(text) else {**result, "is_cut": True}


def _page(base: Target, entry: SitemapEntry, plan: CrawlPlan, today: date) -> list[Any] | None:
    """Return a page that belongs to the crawl as a `DiscoveredLink` of depth 1, like a link of a start page.

    Trap detection by the shape of the URL does not apply: a sitemap is a finite list.
    """
    link = link_to(base, entry.loc, plan.counting_params)
    if link is None or plan.scope.refuses(link.url, 1):
        return None
    rank = rank_of(plan, link.url, 1, priority=entry.priority, age_days=age_in_days(entry.lastmod, today))
    lastmod = entry.lastmod[:_MAX_LASTMOD_CHARS] if entry.lastmod else None
    return [link.url, short_key(link.key), _host_of(link.url), 1, None, rank, None, PAGE, lastmod]


def _sitemap(base: Target, entry: SitemapEntry, level: int) -> list[Any] | None:
    """Return a sitemap of the same host as a `DiscoveredLink`: an index must not send the crawl to other hosts."""
    link = link_to(base, entry.loc)
    if link is None or level > MAX_SITEMAP_LEVEL or _host_of(link.url) != base.authority:
        return None
    return [link.url, sitemap_key(link.key), base.authority, 0, None, 0.0, None, sitemap_kind(level), entry.lastmod]


def sitemap_key(key: str) -> str:
    """Return a key that differs from that of the page with the same URL."""
    return short_key(f"sitemap {key}")


def _host_of(url: str) -> str:
    return url[url.find("//") + 2 :].partition("/")[0]


def _text(body: bytes, content_type: str) -> tuple[str, bool]:
    """Return the decoded text, and whether the compressed body was complete."""
    is_whole = True
    if body.startswith(_GZIP):
        body, is_whole = _decompress(body)
    if "charset" not in content_type.lower() and (named := encoding_of_xml(body)):
        content_type = f"application/xml; charset={named}"
    return decode(body, content_type).text, is_whole


def _decompress(body: bytes) -> tuple[bytes, bool]:
    unpacker = zlib.decompressobj(31)
    try:
        data = unpacker.decompress(body, MAX_BYTES)
    except zlib.error as error:
        raise NotASitemap(f"it cannot be unpacked: {error}", "bad_response:encoding") from None
    if unpacker.unconsumed_tail:
        raise NotASitemap("it is larger than 50 MiB when unpacked", "limit:body_too_large")
    return data, unpacker.eof


def _is_closed(text: str) -> bool:
    """Return whether the root element is closed. A plain list of URLs may end anywhere."""
    root = prolog_of(text).root
    return not root or f"</{root}" in text or text.rstrip().endswith("/>")


def _entries(text: str) -> tuple[bool, Iterator[SitemapEntry]]:
    """Return whether the document is a sitemap index, and its entries.

    A text with one URL per line is a sitemap, too.
    """
    prolog = prolog_of(text)
    if prolog.declares:
        raise NotASitemap("its DOCTYPE has an internal subset", "bad_response:xml_dtd")
    if prolog.root_at is None:
        lines = [line.strip() for line in text.splitlines()]
        if not any(line.startswith(("http://", "https://")) for line in lines[:10]):
            raise NotASitemap("", "bad_response:sitemap")
        return False, (SitemapEntry(line) for line in lines if line.startswith(("http://", "https://")))
    if prolog.root.lower() not in ("urlset", "sitemapindex"):
        raise NotASitemap(f"its first element is <{prolog.root[:40]}>", "bad_response:sitemap")
    from corral.extract.xml.elements import TooMuch, xml_elements  # noqa: PLC0415 - most pages do without lxml

    try:
        elements = xml_elements(text[prolog.root_at :])
    except TooMuch:
        raise NotASitemap("one of its texts is larger than 10 MB, or it is nested too deeply", "limit:parse") from None
    root = None if elements is None else elements.root
    return prolog.root.lower() == "sitemapindex", _iter_entries(() if root is None else root)


def _iter_entries(root: Any) -> Iterator[SitemapEntry]:
    for element in root:
        if not isinstance(element.tag, str):
            continue
        texts = {_name(child): (child.text or "").strip() for child in element if isinstance(child.tag, str)}
        if loc := texts.get("loc"):
            yield SitemapEntry(loc, texts.get("lastmod") or None, _priority(texts.get("priority")))


def _name(element: Any) -> str:
    name: str = element.tag.rpartition("}")[2].rpartition(":")[2]
    return name.lower()


def _priority(text: str | None) -> float | None:
    try:
        return min(1.0, max(0.0, float(text))) if text else None
    except ValueError:
        return None


class SitemapListing(NamedTuple):
    is_index: bool
    entries: list[SitemapEntry]
    is_whole: bool


def list_sitemap(body: bytes, content_type: str) -> SitemapListing:
    """Return everything that a sitemap lists; raise NotASitemap if the body is not one."""
    text, is_whole = _text(body, content_type)
    is_index, entries = _entries(text)
    return SitemapListing(is_index, list(entries), is_whole and _is_closed(text))
