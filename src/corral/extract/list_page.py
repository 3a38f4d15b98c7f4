"""The links of a list page as a crawl would follow them: canonical, without duplicates, with warnings."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corral.domain.errors import BadInput
from corral.domain.jobs.survey import MAX_SAMPLES
from corral.domain.net.url import Target, parse_target

_MAX_URL_CHARS = 8192
_MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class ListFound:
    """What the selectors found. `elements` counts all matches of the link selector, with or without a URL."""

    elements: int
    links: tuple[str, ...]
    following: str | None = None
    has_pagination: bool = False  # the caller has a selector for the next page


@dataclass(frozen=True, slots=True)
class ListPage:
    item_count: int
    samples: tuple[str, ...]
    next_page_url: str | None
    warnings: tuple[str, ...]


def listing_of(page_url: str, found: ListFound) -> ListPage:
    # A browser may be at a URL that parse_target rejects; then no warning compares links with the page.
    page = _parse_address(page_url)
    targets = [target for link in found.links if (target := _parse_address(link)) is not None]
    unique = {target.request_url: target for target in targets}
    following = _parse_address(found.following) if found.following else None
    warnings = [
        *_about_links(found, targets, unique.values(), page),
        *_about_next(found, following, page),
    ]
    samples = tuple(unique)[:MAX_SAMPLES]
    return ListPage(len(unique), samples, following.request_url if following else None, tuple(warnings))


def _parse_address(link: str) -> Target | None:
    try:
        return parse_target(link, max_chars=_MAX_URL_CHARS)
    except BadInput:
        return None


def _about_links(
    found: ListFound, targets: Sequence[Target], unique: Iterable[Target], page: Target | None
) -> Iterable[str]:
    addresses = list(unique)
    if not found.elements:
        yield "item_links matches nothing on this page"
        return
    if not found.links:
        yield f"item_links matches {found.elements} elements and none has a URL: select the links inside them"
        return
    if len(targets) < len(found.links):
        yield f"{len(found.links) - len(targets)} of {len(found.links)} links cannot be fetched"
    if len(targets) > 1 and len(addresses) == 1:
        yield f"all {len(targets)} links lead to the same URL"
    if page is None:
        return
    if any(target.request_url == page.request_url for target in addresses):
        yield "one of the links leads to this page itself"
    elsewhere = Counter(target.host for target in addresses if target.host != page.host)
    if elsewhere:
        hosts = ", ".join(host for host, _ in elsewhere.most_common(_MAX_NAMED))
        more = ", …" if len(elsewhere) > _MAX_NAMED else ""
        yield f"{elsewhere.total()} of {len(addresses)} links leave {page.host}: {hosts}{more}"


def _about_next(found: ListFound, following: Target | None, page: Target | None) -> Iterable[str]:
    if not found.has_pagination:
        return
    if found.following is None:
        yield "pagination matches no link on this page, which is correct only on the last page"
    elif following is None:
        yield f"the next page cannot be fetched: {found.following[:200]}"
    elif page is None:
        return
    elif following.request_url == page.request_url:
        yield "the next page is this page: a crawl would repeat it"
    elif following.host != page.host:
        yield f"the next page is on another host: {following.host}"
