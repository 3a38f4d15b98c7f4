"""Fetch pages over HTTP or from disk, by the rules of domain.net.http_cache."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

import orjson
import structlog

from corral.domain.net.http_cache import (
    CacheMode,
    CacheUse,
    Headers,
    StoredPage,
    is_usable,
    matches,
    may_use_cache,
    refresh,
    should_store,
    storable_headers,
    validators,
)
from corral.domain.runs.outcome import Deferred, Failed
from corral.fetch.cache.disk import DiskCache, TooLarge
from corral.fetch.faults import fault
from corral.fetch.response import Response

log = structlog.get_logger()

FetchLive = Callable[[Mapping[str, str]], Awaitable[Response | Failed | Deferred]]
Check = Callable[[], Awaitable[Failed | Deferred | None]]


@dataclass(frozen=True, slots=True)
class CacheRequest:
    """A GET with everything that decides which runs may share its answer."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    # A run that may reach fewer hosts must not read the answers of one that may reach more.
    trusted_hosts: frozenset[str] = frozenset()
    respects_robots: bool = True
    has_login: bool = False
    route_name: str = ""  # sites answer depending on the origin of a request

    def key(self, policy: str) -> str:
        headers = sorted((name.lower(), value) for name, value in self.headers.items())
        parts = [policy, sorted(self.trusted_hosts), self.respects_robots, self.route_name, self.url, headers]
        return hashlib.sha256(orjson.dumps(parts)).hexdigest()


class PageCache:
    """`policy` identifies the egress policy: a change of the policy invalidates the cache."""

    def __init__(
        self,
        disk: DiskCache | None,
        mode: CacheMode,
        *,
        policy: str = "",
        user_agent: str = "",
        max_bytes: int = 10 * 1024 * 1024,
    ) -> None:
        self._disk = disk
        self._mode = mode if disk is not None else CacheMode.OFF
        self._policy = policy
        self._user_agent = user_agent
        self._max_bytes = max_bytes

    async def fetch(self, request: CacheRequest, fetch_live: FetchLive, check: Check) -> Response | Failed | Deferred:
        """Answer from disk, or with `fetch_live`, which gets the revalidation headers, if `check` allows it."""
        if self._disk is None or not may_use_cache(self._mode, request.headers, has_login=request.has_login):
            return await check() or await fetch_live({})
        key = request.key(self._policy)
        try:
            page = await asyncio.to_thread(self._disk.read, key, self._max_bytes)
        except TooLarge as problem:
            return fault("limit:body_too_large", f"{problem} in the cache, {self._max_bytes} allowed")
        if page is not None and is_usable(page, self._mode, self._request_headers(request), time.time()):
            return _from_disk(page, CacheUse.HIT)
        refusal = await check()
        if refusal is not None:
            return refusal
        return await self._refetch(request, key, page, fetch_live)

    async def peek(self, request: CacheRequest) -> Response | None:
        """Return the page that a replay would use, without fetching anything."""
        if self._disk is None or self._mode is not CacheMode.REPLAY:
            return None
        try:
            page = await asyncio.to_thread(self._disk.read, request.key(self._policy), self._max_bytes)
        except TooLarge:
            return None
        return None if page is None else _from_disk(page, CacheUse.HIT)

    async def _refetch(
        self, request: CacheRequest, key: str, page: StoredPage | None, fetch_live: FetchLive
    ) -> Response | Failed | Deferred:
        revalidation = validators(page) if page is not None and matches(page, self._request_headers(request)) else {}
        answer = await fetch_live(revalidation)
        if isinstance(answer, Response) and answer.status == 304 and revalidation and page is not None:
            # After a redirect the 304 is about another page.
            current = None if answer.chain else refresh(page, answer.headers, time.time())
            if current is not None:
                await self._store(key, current)
                response = _from_disk(current, CacheUse.REVALIDATED)
                return replace(response, raw_bytes=answer.raw_bytes, timings=answer.timings)
            answer = await fetch_live({})
        if not isinstance(answer, Response):
            return answer
        if not answer.truncated:
            await self._store(key, self._page(request, answer))
        return replace(answer, cache=CacheUse.MISS.value)

    def _page(self, request: CacheRequest, answer: Response) -> StoredPage:
        headers, sent = storable_headers(answer.headers), self._request_headers(request)
        return StoredPage(answer.url, answer.status, headers, answer.body, answer.chain, time.time(), sent)

    async def _store(self, key: str, page: StoredPage) -> None:
        if self._disk is None or not should_store(page, self._mode):
            return
        try:
            await asyncio.to_thread(self._disk.write, key, page)
        except OSError as error:
            log.warning(
                "cache_write_failed", message="a page could not be stored in the HTTP cache", reason=error.strerror
            )

    def _request_headers(self, request: CacheRequest) -> Headers:
        """Return the headers in which two requests for one URL may differ; all others are constant."""
        own = [(name.lower(), value) for name, value in request.headers.items()]
        return (("user-agent", self._user_agent), *sorted(own))


def _from_disk(page: StoredPage, use: CacheUse) -> Response:
    return Response(
        url=page.url,
        status=page.status,
        headers=page.headers,
        body=page.body,
        raw_bytes=0,
        chain=page.chain,
        timings={"total_ms": 0},
        cache=use.value,
    )


NO_CACHE = PageCache(None, CacheMode.OFF)
