"""Propose, for a list job, which links of a page lead to items and how the list continues. The best come first."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from selectolax.lexbor import LexborNode

from corral.domain.crawl.templates.traps import template_of
from corral.domain.errors import BadInput
from corral.domain.jobs.survey import MAX_SAMPLES
from corral.domain.lists.pagination import PagingMode
from corral.domain.net.canonical import Link, links_to
from corral.domain.net.url import Target, parse_target
from corral.extract.classify.shells import has_more_button, loads_more
from corral.extract.lists.next_link import NAME, REL, SIGN, WORD, find_next_link
from corral.extract.lists.numbers import find_numbered_pages
from corral.extract.lists.page_links import read_page_links
from corral.extract.page import Page
from corral.extract.survey.repeated_items import RepeatedItems, find_repeated_items

_MAX_PROPOSALS = 5
_MAX_PAGES = 5
_MIN_ITEMS = 2
# The link in the heading of an item leads to the item; its other links lead to authors, comments or categories.
_INSIDE = ("h2 a[href]", "h3 a[href]", "h4 a[href]", "h1 a[href]", "a[href]")
_NAVIGATION = frozenset({"nav", "header", "footer"})
_CONFIDENCE = {REL: 0.95, WORD: 0.9, NAME: 0.8, SIGN: 0.7}


@dataclass(frozen=True, slots=True)
class LinkProposal:
    """A proposed selector; `css` is ready to use as item_links."""

    css: str
    count: int  # distinct links
    samples: tuple[str, ...]
    texts: tuple[str, ...]  # of the first links
    confidence: float


@dataclass(frozen=True, slots=True)
class PagingProposal:
    mode: str
    page_urls: tuple[str, ...]  # the next pages that a run would visit, as far as this page links to them
    confidence: float


def propose_item_links(page: Page, url: str) -> list[dict[str, Any]]:
    base = _base_of(page, url)
    if base is None:
        return []
    found: dict[tuple[str, ...], LinkProposal] = {}
    for group, css, sure in find_repeated_items(page, limit=2 * _MAX_PROPOSALS):
        proposal = _propose_links(page, group, css, sure, base)
        if proposal is not None:
            other = found.get(proposal.samples)
            found[proposal.samples] = proposal if other is None else max(proposal, other, key=_rank)
    ranked = sorted(found.values(), key=_rank, reverse=True)[:_MAX_PROPOSALS]
    return [asdict(each) for each in ranked]


def _rank(proposal: LinkProposal) -> tuple[float, int]:
    return proposal.confidence, proposal.count


def _propose_links(page: Page, group: RepeatedItems, css: str, sure: float, base: Target) -> LinkProposal | None:
    if group.tag == "a":
        return _rate(page, css, group.nodes, base, items=len(group.nodes), sure=sure)
    for inside in _INSIDE:
        firsts = [node.css_first(inside) for node in group.nodes]
        if sum(node is not None for node in firsts) * 3 >= 2 * len(firsts):
            selector = f"{css} {inside.removesuffix('[href]')}" if inside != "a[href]" else f"{css} a[href]"
            return _rate(page, selector, page.tree.css(f"{css} {inside}"), base, items=len(group.nodes), sure=sure)
    return None


def _rate(
    page: Page, css: str, nodes: list[LexborNode], base: Target, *, items: int, sure: float
) -> LinkProposal | None:
    """Rate a selector: a list has one link with a text for each item, and all links share one URL template."""
    links = links_to(base, [node.attributes.get("href") or "" for node in nodes])
    targets: dict[str, tuple[Link, str]] = {}
    for node, link in zip(nodes, links, strict=True):
        if link is not None:
            text = page.text_of(node) or ""
            earlier = targets.get(link.key)
            targets[link.key] = (link, text if earlier is None else earlier[1] or text)
    if len(targets) < _MIN_ITEMS:
        return None
    templates = Counter(template_of(link.url) for link, _ in targets.values())
    share = templates.most_common(1)[0][1] / len(targets)
    per_item = min(items, len(targets)) / max(items, len(targets))
    words = sum(len(text) > 3 for _, text in targets.values()) / len(targets)
    confidence = sure * (0.4 + 0.25 * share + 0.2 * per_item + 0.15 * words)
    urls = tuple(link.url for link, _ in targets.values())[:MAX_SAMPLES]
    texts = tuple(text[:100] for _, text in targets.values())[:_MAX_PAGES]
    return LinkProposal(css, len(targets), urls, texts, round(confidence, 2))


def propose_paging(page: Page, url: str, items: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """Propose paginations for the page. `items` are the keys of the item links, which are not list pages."""
    base = _base_of(page, url)
    if base is None:
        return []
    links = [each for each in read_page_links(page, base, frozenset()) if parse_target(each.link.url).host == base.host]
    found = []
    numbered = find_numbered_pages(url, links, items)
    if numbered is not None and numbered.next_url is not None:
        numbers = range(numbered.next_number, numbered.last + 1, numbered.step)[:_MAX_PAGES]
        sure = 0.92 if numbered.has_labels and numbered.counter.is_page_name else 0.75
        found.append(PagingProposal(PagingMode.NUMBERS, tuple(numbered.url_at(each) for each in numbers), sure))
    following = find_next_link([each for each in links if each.link.key not in items and each.link.url != url])
    if following is not None:
        found.append(PagingProposal(PagingMode.NEXT, (following[0].link.url,), _CONFIDENCE[following[1]]))
    if has_more_button(page):
        found.append(PagingProposal(PagingMode.LOAD_MORE, (), 0.8))
    if loads_more(page):
        found.append(PagingProposal(PagingMode.SCROLL, (), 0.5))
    return [asdict(each) for each in sorted(found, key=lambda each: -each.confidence)]


def count_in_navigation(page: Page, css: str) -> tuple[int, int]:
    """Return how many elements a selector matches, and how many of them are in the navigation of the page."""
    nodes = page.tree.css(css)
    return len(nodes), sum(_is_in_navigation(node) for node in nodes)


def _is_in_navigation(node: LexborNode) -> bool:
    above = node.parent
    while above is not None and above.tag not in ("body", "html", "main", "article"):
        if above.tag in _NAVIGATION or (above.attributes.get("role") or "") == "navigation":
            return True
        above = above.parent
    return False


def _base_of(page: Page, url: str) -> Target | None:
    try:
        return parse_target(page.base_url or url)
    except BadInput:
        return None
