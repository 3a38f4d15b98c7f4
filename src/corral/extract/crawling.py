"""What a crawl wants of a page: its text, and where it leads, already judged by the scope of the crawl."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson

from corral.domain.canonical import links_to
from corral.domain.crawl import CrawlPlan
from corral.domain.errors import BadInput
from corral.domain.item import short_key
from corral.domain.scope import Refusal
from corral.domain.traps import shape_of
from corral.domain.url import parse_target
from corral.extract.article import article_of
from corral.extract.links import Links, links_of
from corral.extract.page import Page


@dataclass(frozen=True, slots=True)
class CrawlAsk:
    """`plan` is the document of the crawl, packed: a reader unpacks it once for all of its pages."""

    plan: str
    depth: int


def crawled(page: Page, url: str, ask: CrawlAsk) -> dict[str, Any]:
    """JSON throughout: it crosses a process boundary."""
    plan = _plan(ask.plan)
    links = links_of(page)
    article = article_of(page)
    return {
        "title": article.title,
        "full_text": article.text,
        "word_count": article.word_count,
        "char_count": article.char_count,
        "found": _judged(plan, links, url, ask.depth + 1),
        "dropped": links.dropped,
        "is_noindex": links.directives.noindex,
    }


@lru_cache(maxsize=64)
def _plan(packed: str) -> CrawlPlan:
    return CrawlPlan.of(orjson.loads(packed))


def _judged(plan: CrawlPlan, links: Links, url: str, depth: int) -> list[list[Any]]:
    """As the fields of domain.item.Found; the rule that refuses a link comes with it."""
    try:
        base = parse_target(links.base_url or url)
    except BadInput:
        return []
    today = datetime.now(UTC).date()
    found: dict[str, list[Any]] = {}
    for link, reference in zip(links_to(base, links.references), links.references, strict=True):
        if link is None or link.key in found:
            continue
        reason: str | None = plan.scope.refuses(link.url, depth) or shape_of(link.url, today)
        is_nofollow = links.directives.nofollow or reference in links.nofollow
        if reason is None and is_nofollow and not plan.follow_nofollow:
            reason = Refusal.NOFOLLOW
        found[link.key] = [link.url, short_key(link.key), _host_of(link.url), depth, reason, float(depth)]
    return list(found.values())


def _host_of(url: str) -> str:
    """Of a canonical URL."""
    return url[url.find("//") + 2 :].partition("/")[0]
