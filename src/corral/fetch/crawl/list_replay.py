"""Fetch the rest of a list over HTTP: repeat the API call that fills it in the browser, with the next cursor."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.item import short_key
from corral.domain.crawl.job_pages import Listing
from corral.domain.errors import BadInput
from corral.domain.net.canonical import link_of
from corral.domain.net.url import parse_target
from corral.domain.runs.outcome import Deferred, Failed
from corral.domain.sites.recipe.list_call import ListCall, derive_list_call, request_of
from corral.domain.sites.recipe.recipe import ReplayRequest
from corral.domain.sites.recipe.search import Call
from corral.fetch.browser.crawl_page import STEPS, Rendering
from corral.fetch.response import Response

_OK = 200
_TRIES = 3
_MAX_PAUSE_S = 5.0
_PAUSE_S = 0.5

SendCall = Callable[[ReplayRequest], Awaitable[Response | Failed | Deferred]]


async def replay_list(rendering: Rendering, plan: CrawlPlan, send: SendCall) -> bool:
    """Add the items of further pages to the rendered list page; False if only the browser can load them."""
    content = (rendering.answer.crawl_page if rendering.answer is not None else None) or {}
    rows = {row[1]: row for row in content.get("items", ())}
    derived = await asyncio.to_thread(derive_list_call, rendering.calls, [row[0] for row in rows.values()])
    if derived is None or plan.listing is None:
        return False
    call, last, page_count = derived
    listing = Listing.of(plan.listing)
    is_cut = await _follow(call, last, rows, listing, plan, send, listing.max_pages - page_count)
    if is_cut is None:
        return False
    content["items"] = list(rows.values())
    rendering.cut_by = STEPS if is_cut else None
    return True


async def _follow(  # noqa: PLR0917 - the parts of one replay
    call: ListCall,
    last: Call,
    rows: dict[str, list[Any]],
    listing: Listing,
    plan: CrawlPlan,
    send: SendCall,
    pages_left: int,
) -> bool | None:
    """Repeat the call until the list ends.

    Return True if a limit ended it first, None if the API does not answer as recorded.
    """
    request, answer, requested = request_of(last), last.answer, {_key_of(request_of(last))}
    while (following := call.next_request(request, answer)) is not None and _key_of(following) not in requested:
        if len(rows) > listing.max_items:
            return False  # the caller reports the item limit together with the items
        requested.add(_key_of(following))
        document = await _call(following, send)
        links = call.read_links(document) if document is not None else None
        if links is None:
            return None
        if pages_left <= 0:
            return _add(links, dict(rows), plan) > 0  # one call beyond the limit shows whether the list continues
        pages_left -= 1
        if not _add(links, rows, plan):
            return False
        request, answer = following, document
    return False


def _key_of(request: ReplayRequest) -> tuple[str, bytes]:
    return request.url, orjson.dumps(request.body)


async def _call(request: ReplayRequest, send: SendCall) -> Any:
    """Return the JSON of the answer; None if a few attempts bring none."""
    for _ in range(_TRIES):
        answer = await send(request)
        if isinstance(answer, Deferred):
            await asyncio.sleep(min(_MAX_PAUSE_S, answer.seconds))
        elif isinstance(answer, Response) and answer.status == _OK:
            try:
                return orjson.loads(answer.body)
            except orjson.JSONDecodeError:
                return None
        elif isinstance(answer, Failed) and answer.http_status is None:
            await asyncio.sleep(_PAUSE_S)
        elif isinstance(answer, Response) and answer.status < 500:
            return None
    return None


def _add(links: list[str], rows: dict[str, list[Any]], plan: CrawlPlan) -> int:
    """Add the links as item rows; return the number of new ones."""
    before = len(rows)
    for url in links:
        try:
            target = parse_target(url)
        except BadInput:
            continue
        link = link_of(target, plan.counting_params)
        key = short_key(link.key)
        reason = plan.scope.refuses(link.url, 1)
        rows.setdefault(key, [link.url, key, target.authority, 1, reason, 1.0])
    return len(rows) - before
