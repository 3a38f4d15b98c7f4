"""Extract from a page what a crawl needs: the record, and the links checked against the scope of the crawl."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import orjson

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.item import short_key
from corral.domain.crawl.option_values import Order
from corral.domain.crawl.scope import Refusal
from corral.domain.crawl.score import score_of
from corral.domain.crawl.templates.fingerprint import sketch
from corral.domain.crawl.templates.traps import shape_of
from corral.domain.errors import BadInput
from corral.domain.lists.position import ListPosition
from corral.domain.net.canonical import link_to, url_key
from corral.domain.net.url import parse_target
from corral.domain.redaction import redact_result_url
from corral.extract.documents import Document
from corral.extract.link_classifier import LinkClassifier, ReadMemory, host_of
from corral.extract.link_limit import limit_links, limit_references, max_examined
from corral.extract.links import MAX_LINKS, Links, header_directives, link_texts, links_of
from corral.extract.own_code.rows import CodeResult
from corral.extract.page import Page
from corral.extract.read_time import ReadTime
from corral.extract.readable.article import Article, article_of, make_article
from corral.extract.value_limit import max_chars
from corral.extract.whole_text import whole_text

_TEXT_CHARS = 2000
_DIGEST_BYTES = 12
_FEW_LINKS = 100
_MAX_SESSIONS = 200
_FILE_RANK = 0.5  # files come after the pages of their depth, before the next depth
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class CrawlReadOptions:
    """How to read a page of a crawl. `plan` is the plan as JSON text: a reader parses it once for all pages."""

    plan: str
    depth: int
    attempt: int = 1
    began: float = 0.0  # when the request started, on the monotonic clock, which all processes share
    level: int = 0  # of a sitemap, from 1; 0 for a page
    listing: ListPosition | None = None  # for a list page
    agent: str = ""  # the user agent of the request: X-Robots-Tag headers may name it


class CrawledDocument(NamedTuple):
    """Where a document came from, and how to read it."""

    url: str
    status: int
    options: CrawlReadOptions
    time: ReadTime
    tags: tuple[str, ...] = ()  # its X-Robots-Tag headers
    max_links: int = MAX_LINKS  # links to follow, and as many again that are reported as refused


def extract_crawl_page(  # noqa: PLR0917 - the parts of one reading
    source: Page | Document,
    title: str | None,
    document: CrawledDocument,
    fields: dict[str, Any],
    memory: ReadMemory,
    output: CodeResult | None = None,
) -> dict[str, Any]:
    """Return the crawl data of a page as JSON values, which cross a process boundary; records are JSON texts."""
    url, options = document.url, document.options
    classifier = memory.classifier(options.plan)
    if isinstance(source, Page):
        links, article = links_of(source, limit=max_examined(document.max_links)), article_of(source)
        texts = link_texts(source) if classifier.plan.keywords else {}
        whole = whole_text(source)
    else:
        (article, links), texts = source, {}
        links = limit_references(links, max_examined(document.max_links))
        whole = article.text
    if output is not None and output.links is not None:
        links = limit_references(_follow_only(links, output.links), max_examined(document.max_links))
    is_noindex, is_nofollow = links.directives.also(header_directives(document.tags, options.agent))
    classified, sessions = _classify_links(classifier, links, document, texts, is_nofollow=is_nofollow)
    found, dropped = limit_links(classified, document.max_links)
    has_record = not (is_noindex and classifier.plan.obey_noindex)
    article, cut = _cut(article)
    record: str | None = None
    more: list[str] = []
    if has_record and output is not None:
        records = _code_records(output, url, classifier.plan)
        record, more = next(iter(records), None), records[1:]
    elif has_record:
        record = _record(article, title, document, fields, found, plan=classifier.plan, is_cut=bool(cut))
    return {
        "cut": cut,
        "record": record,
        **({"more": more} if more else {}),
        **({"has_own_links": True} if output is not None and output.links is not None else {}),
        "found": found,
        "dropped": links.dropped + dropped,
        "sessions": sessions,
        "is_noindex": is_noindex,
        "canonical": _canonical(classifier.plan, links, document),
        "refresh": find_refresh(classifier.plan, links, url, options.depth, document.time.today),
        "text_chars": article.char_count,
        "digest": digest_of(article.title, whole, links.references),
        # Lets the crawl notice when a template brings nothing new any more.
        "sketch": sketch(article.text, _words_of(url, links), memory.words) if classifier.plan.avoid_traps else None,
    }


def _follow_only(links: Links, references: tuple[str, ...]) -> Links:
    """Return links with only the references of own code, without the nofollow directives of the page."""
    directives = links.directives._replace(nofollow=False)
    return links._replace(references=references, nofollow=frozenset(), directives=directives)


def _code_records(output: CodeResult, url: str, plan: CrawlPlan) -> list[str]:
    """Return the records of own code as JSON, each with the URL of the page unless the code sets another."""
    redacted_url = redact_result_url(url, plan.counting_params)
    return [orjson.dumps({"url": redacted_url, **row}).decode() for row in output.rows]


def _cut(article: Article) -> tuple[Article, list[str]]:
    """Cut the text to the limit of a value; return the article and the names of the cut values."""
    limit = max_chars()
    if len(article.text) <= limit:
        return article, []
    return make_article(article.title, article.text[:limit]), ["full_text"]


def _words_of(url: str, links: Links) -> frozenset[str]:
    """Return the words of the page's own URL, and of its links if they are few.

    The sketch ignores them: repeated in the text, they do not tell what the page is about.
    """
    addresses = [url, *(links.references if len(links.references) <= _FEW_LINKS else ())]
    return frozenset(_WORD.findall(" ".join(addresses).lower()))


def _record(
    article: Article,
    title: str | None,
    document: CrawledDocument,
    fields: dict[str, Any],
    found: list[list[Any]],
    *,
    plan: CrawlPlan,
    is_cut: bool,
) -> str:
    url, status, options, time = document[:4]
    # Corral's own URL fields are redacted (session ids, tokens); the fields of the user stay exact.
    redacted_url = redact_result_url(url, plan.counting_params)
    if plan.only_fields:
        return orjson.dumps({"url": redacted_url, **fields}).decode()
    record = {
        "url": redacted_url,
        "title": article.title or title,
        "text": article.text[:_TEXT_CHARS],
        "full_text": article.text,
        "depth": options.depth,
        "http_status": status,
        "source": parse_target(url, max_chars=len(url)).host,
        "timestamp": time.now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "word_count": article.word_count,
        "char_count": article.char_count,
        "retry_attempt": options.attempt - 1,
        "scrape_duration": round(time.monotonic_s - options.began, 4),
        **({"cut": ["full_text"]} if is_cut else {}),
        **({"outlinks": [redact_result_url(link[0]) for link in found]} if plan.links else {}),
        **fields,
    }
    return orjson.dumps(record).decode()


def digest_of(title: str | None, text: str, references: Sequence[str] = ()) -> str:
    """Return a digest of what a reader sees and of the paths of the links.

    Attributes, scripts, comments and the queries of links do not count: on many pages they differ at every request.
    """
    paths = " ".join([reference.partition("?")[0] for reference in references])
    content = f"{title}\0{text}\0{paths}".encode("utf-8", "replace")
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


def _classify_links(
    classifier: LinkClassifier, links: Links, document: CrawledDocument, texts: dict[str, str], *, is_nofollow: bool
) -> tuple[list[list[Any]], list[list[str]]]:
    """Return the links as fields of `DiscoveredLink`, with the rule that refuses each, and those with a session id."""
    try:
        base = parse_target(links.base_url or document.url)
    except BadInput:
        return [], []
    plan = classifier.plan
    if plan.scope.follows_nothing and not plan.links:
        return [], []  # spares classifying and sending up to a hundred thousand links
    # In a crawl of a list, the links that own code returns for an item lead to further items of the same depth.
    depth = document.options.depth + (1 if plan.listing is None else 0)
    is_best, rank = plan.order is Order.BEST, float(depth)
    found: dict[str, list[Any]] = {}
    sessions: list[list[str]] = []
    classified = classifier.classify(base, links.references, document.time.today, is_too_deep=depth > plan.max_depth)
    for link, reference in zip(classified, links.references, strict=True):
        if link is not None and link.has_session and len(sessions) < _MAX_SESSIONS:
            sessions.append([link.url, link.short])
        if link is None or link.key in found:
            continue
        url, key, short, host, reason, _, is_file = link
        if reason is None and not plan.follow_nofollow and (is_nofollow or reference in links.nofollow):
            reason = Refusal.NOFOLLOW
        if is_best:
            rank = rank_of(plan, url, depth, texts.get(reference, ""))
        found[key] = [url, short, host, depth, reason, rank + _FILE_RANK if is_file else rank]
    return list(found.values()), sessions


def find_refresh(plan: CrawlPlan, links: Links, url: str, depth: int, today: date) -> tuple[float, list[Any]] | None:
    """Return the delay of a meta refresh in seconds and its target, as fields of `DiscoveredLink`.

    The target has the depth of the page itself.
    """
    if links.refresh is None:
        return None
    try:
        here, base = parse_target(url), parse_target(links.base_url or url)
    except BadInput:
        return None
    link = link_to(base, links.refresh.reference, plan.counting_params)
    if link is None or link.key == url_key(here, plan.counting_params):
        return None
    reason: str | None = plan.scope.refuses(link.url, depth)
    if reason is None and plan.avoid_traps:
        reason = shape_of(link.url, today)
    found = [link.url, short_key(link.key), host_of(link.url), depth, reason, rank_of(plan, link.url, depth)]
    return links.refresh.delay_s, found


def _canonical(plan: CrawlPlan, links: Links, document: CrawledDocument) -> list[Any] | None:
    """Return the target of rel=canonical as fields of `DiscoveredLink`.

    None if it is the page itself, or does not belong to the crawl.
    """
    if links.canonical is None or not plan.use_canonical:
        return None
    try:
        here, base = parse_target(document.url), parse_target(links.base_url or document.url)
    except BadInput:
        return None
    link = link_to(base, links.canonical, plan.counting_params)
    if link is None or link.key == url_key(here, plan.counting_params):
        return None
    depth = document.options.depth
    if plan.scope.refuses(link.url, depth):
        return None
    if plan.avoid_traps and shape_of(link.url, document.time.today):
        return None
    return [link.url, short_key(link.key), host_of(link.url), depth, None, rank_of(plan, link.url, depth)]


def rank_of(
    plan: CrawlPlan,
    url: str,
    depth: int,
    text: str = "",
    priority: float | None = None,
    *,
    age_days: int | None = None,
) -> float:
    """Return the rank of a URL; the crawl fetches the smallest first."""
    if plan.order is Order.BREADTH:
        return float(depth)
    return -score_of(url, depth, plan.keywords, text, priority, age_days=age_days)
