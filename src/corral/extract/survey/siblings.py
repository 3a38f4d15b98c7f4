"""Find other pages of a page's template among its links: the same host, and a URL of the same shape."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from corral.domain.crawl.templates.traps import is_numbered_list, template_of
from corral.domain.errors import BadInput
from corral.domain.net.canonical import canonical_url
from corral.domain.net.url import parse_target
from corral.extract.links import links_of
from corral.extract.page import Page

MAX_SIBLINGS = 6  # more than the preview fetches: some may be missing


def find_siblings(page: Page, url: str) -> list[str]:
    """Return siblings, the most likely first: same template, another page of the list, same folder and depth."""
    try:
        own = canonical_url(parse_target(url))
    except BadInput:
        return []
    tiers: tuple[list[str], list[str], list[str]] = ([], [], [])
    for link in _links(page, url):
        tier = _tier(own, link)
        if tier is not None and link != own and link not in tiers[tier]:
            tiers[tier].append(link)
    return [link for tier in tiers for link in tier][:MAX_SIBLINGS]


def _links(page: Page, url: str) -> Iterator[str]:
    host = urlsplit(url).netloc
    for reference in links_of(page).references:
        try:
            link = canonical_url(parse_target(page.absolute(reference)))
        except BadInput:
            continue
        if urlsplit(link).netloc == host:
            yield link


def _tier(own: str, link: str) -> int | None:
    template, other = template_of(own), template_of(link)
    if template == other:
        return 0
    path, other_path = own.partition("?")[0], link.partition("?")[0]
    if path == other_path:
        # The first page of a list often has no number. Queries without page numbers sort or filter the same page.
        is_first = "?" not in own and link.endswith("=1")
        return 1 if is_numbered_list(other) and not is_first else None
    folder, _, last = path.rstrip("/").rpartition("/")
    other_folder, _, other_last = other_path.rstrip("/").rpartition("/")
    is_beside = folder == other_folder and folder.count("/") > 2
    has_same_form = _suffix(last) == _suffix(other_last) and ("?" in own) == ("?" in link)
    return 2 if is_beside and has_same_form else None


def _suffix(name: str) -> str:
    return name.rpartition(".")[2] if "." in name else ""
