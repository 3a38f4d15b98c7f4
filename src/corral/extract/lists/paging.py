"""Find the page that follows a list page, by the pagination of the list."""

from dataclasses import dataclass
from typing import Any

from corral.domain.lists.counters import add_param, counter_in, counters_in, next_address
from corral.domain.lists.pagination import Pagination, PagingMode
from corral.domain.lists.position import ListPosition
from corral.domain.net.canonical import Link, link_to, links_to, url_key
from corral.domain.net.url import Target, parse_target
from corral.extract.lists.next_link import REL, find_next_link
from corral.extract.lists.numbers import NumberedPages, find_numbered_pages
from corral.extract.lists.page_links import PageLink, read_page_links
from corral.extract.page import Page


@dataclass(frozen=True, slots=True)
class ListContext:
    """A list page: its own URL, the base of its links, and the known keys of its list."""

    url: str
    base: Target
    lists: frozenset[str]  # keys of this page and of the start pages, which are never the next page
    items: frozenset[str]  # keys of the items of this page
    counting_params: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FollowingPages:
    """The next pages. `links` has one, unless a selector takes all its matches."""

    links: tuple[Link, ...] = ()
    mode: PagingMode | None = None
    step: int = 0
    slot: str = ""
    is_guess: bool = False  # the number was incremented, and no link leads to the page
    is_end_shown: bool = False  # a guess, while the page links to lower numbers only


NO_PAGE = FollowingPages()


def find_following(
    pagination: Pagination, value: Any, page: Page | None, context: ListContext, position: ListPosition
) -> FollowingPages:
    """Return the pages after this one.

    `value` is what the selector of the pagination found, `position` the position of the page in its list.
    """
    if not pagination.finds_links:
        return NO_PAGE
    if pagination.mode is PagingMode.NEXT and pagination.selector is not None:
        return FollowingPages(follow_references(value, context), PagingMode.NEXT)
    links = read_page_links(page, context.base, context.counting_params) if page is not None else []
    links = [each for each in links if _is_same_host(each.link, context)]
    if pagination.mode is PagingMode.NUMBERS:
        return _count_on(pagination, value, links, context, position)
    numbered = find_numbered_pages(context.url, links, context.items, position.slot)
    return _find_next(pagination.mode, links, numbered, context)


def follow_references(value: Any, context: ListContext) -> tuple[Link, ...]:
    """Return the pages that a selector found: one, or a list if it takes all its matches."""
    references = [str(entry) for entry in (value if isinstance(value, list) else [value]) if entry]
    links = {link.key: link for link in links_to(context.base, references, context.counting_params) if link is not None}
    return tuple(link for key, link in links.items() if key not in context.lists)


def _is_same_host(link: Link, context: ListContext) -> bool:
    return parse_target(link.url).host == context.base.host


def _find_next(
    mode: PagingMode, links: list[PageLink], numbered: NumberedPages | None, context: ListContext
) -> FollowingPages:
    candidates = [each for each in links if each.link.key not in context.lists and each.link.key not in context.items]
    found = find_next_link(candidates)
    counted = numbered if mode is PagingMode.AUTO else None
    if found is not None and found[1] < REL and counted is not None and counted.has_labels:
        # A "next" link beside page numbers may skip several pages, or belong to something else on the page.
        found = None
    if found is None and (counted is None or counted.next_url is None):
        return NO_PAGE
    if found is None:
        assert counted is not None
        return _follow_number(counted, context)
    link = found[0].link
    if numbered is not None and numbered.next_url is not None and _key_of(numbered.next_url, context) == link.key:
        return FollowingPages((link,), PagingMode.NEXT, numbered.step, numbered.slot)
    return FollowingPages((link,), PagingMode.NEXT)


def _follow_number(pages: NumberedPages, context: ListContext, *, is_guess: bool = False) -> FollowingPages:
    url = pages.url_at(pages.next_number)
    link = link_to(context.base, url, context.counting_params)
    if link is None or link.key in context.lists:
        return NO_PAGE
    return FollowingPages((link,), PagingMode.NUMBERS, pages.step, pages.slot, is_guess, is_end_shown=is_guess)


def _count_on(
    pagination: Pagination, value: Any, links: list[PageLink], context: ListContext, position: ListPosition
) -> FollowingPages:
    """Increment the page number, linked or not: an empty, repeated or missing page ends the list."""
    if pagination.selector is not None:
        chosen = {link.key for link in follow_references(value, context)}
        links = [each for each in links if each.link.key in chosen]
    numbered = find_numbered_pages(context.url, links, context.items, position.slot)
    if pagination.param is None and numbered is not None:
        return _follow_number(numbered, context, is_guess=numbered.next_number > numbered.last)
    guess = _guess_next(pagination, context.url, position)
    if guess is None:
        return NO_PAGE
    url, slot, step = guess
    link = link_to(context.base, url, context.counting_params)
    if link is None or link.key in context.lists:
        return NO_PAGE
    is_linked = any(each.link.key == link.key for each in links)
    return FollowingPages((link,), PagingMode.NUMBERS, step, slot, is_guess=not is_linked)


def _guess_next(pagination: Pagination, url: str, position: ListPosition) -> tuple[str, str, int] | None:
    """Return the URL after `url`, its slot and its step.

    It follows from the parameter that the user named, from the count so far, or from the page number in the URL.
    """
    if pagination.param is not None:
        step, slot = pagination.step or 1, f"?{pagination.param}"
        counter = counter_in(url, slot)
        # Without a number, the first page is 1 if the parameter counts pages, and 0 if it counts items.
        own = counter.value if counter is not None else (1 if step == 1 else 0)
        return add_param(url, pagination.param, own + step), slot, step
    if position.step and (following := next_address(url, position.slot, position.step)) is not None:
        return following, position.slot, position.step
    named = [each for each in counters_in(url) if each.is_page_name and not each.is_offset_name]
    if not named:
        return None
    return named[0].at(named[0].value + 1), named[0].slot, 1


def _key_of(url: str, context: ListContext) -> str | None:
    link = link_to(context.base, url, context.counting_params)
    return None if link is None else link.key


def own_keys(
    context_url: str, base: Target, starts: tuple[str, ...], counting_params: frozenset[str]
) -> frozenset[str]:
    """Return the URL keys of a list page and of the start of its list."""
    targets = (base, *map(parse_target, starts), parse_target(context_url))
    return frozenset(url_key(target, counting_params) for target in targets)
