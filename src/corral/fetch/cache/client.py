"""Pages fetched over HTTP, or had from disk where that is as good. What is as good, domain.net.http_cache decides."""

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
    is_worth_keeping,
    keepable,
    matches,
    may_ask_cache,
    refreshed,
    validators,
)
from corral.domain.runs.outcome import Failed
from corral.fetch.cache.disk import DiskCache, TooLarge
from corral.fetch.faults import fault
from corral.fetch.response import Response

log = structlog.get_logger()

Live = Callable[[Mapping[str, str]], Awaitable[Response | Failed]]
Allowed = Callable[[], Awaitable[Failed | None]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A GET, with all that decides who may be given its answer."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    # On whose word: an answer got for somebody who may reach more is nothing for somebody who may not.
    trusted_hosts: frozenset[str] = frozenset()
    respects_robots: bool = True
    is_known: bool = False  # it carries a login
    through: str = ""  # which proxy; a site answers by where we seem to come from

    def key(self, policy: str) -> str:
        given = sorted((name.lower(), value) for name, value in self.headers.items())
        parts = [policy, sorted(self.trusted_hosts), self.respects_robots, self.through, self.url, given]
        return hashlib.sha256(orjson.dumps(parts)).hexdigest()


class PageCache:
    """`policy` names what this installation may reach: with another policy, other answers."""

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

    async def fetch(self, asked: Asked, live: Live, allowed: Allowed) -> Response | Failed:
        """From disk, or by `live` with the headers that ask whether the stored one still holds, if `allowed`."""
        if self._disk is None or not may_ask_cache(self._mode, asked.headers, is_known=asked.is_known):
            return await allowed() or await live({})
        key = asked.key(self._policy)
        try:
            page = await asyncio.to_thread(self._disk.read, key, self._max_bytes)
        except TooLarge as problem:
            return fault("limit:body_too_large", f"{problem} in the cache, {self._max_bytes} allowed")
        if page is not None and is_usable(page, self._mode, self._sent(asked), time.time()):
            return _from_disk(page, CacheUse.HIT)
        refusal = await allowed()
        if refusal is not None:
            return refusal
        return await self._asked_again(asked, key, page, live)

    async def peek(self, asked: Asked) -> Response | None:
        """What a replay would answer; nothing is fetched, and nothing is used up."""
        if self._disk is None or self._mode is not CacheMode.REPLAY:
            return None
        try:
            page = await asyncio.to_thread(self._disk.read, asked.key(self._policy), self._max_bytes)
        except TooLarge:
            return None
        return None if page is None else _from_disk(page, CacheUse.HIT)

    async def _asked_again(self, asked: Asked, key: str, page: StoredPage | None, live: Live) -> Response | Failed:
        known = validators(page) if page is not None and matches(page, self._sent(asked)) else {}
        answer = await live(known)
        if isinstance(answer, Response) and answer.status == 304 and known and page is not None:
            # After a redirect it speaks of another page than ours.
            current = None if answer.chain else refreshed(page, answer.headers, time.time())
            if current is not None:
                await self._keep(key, current)
                again = _from_disk(current, CacheUse.REVALIDATED)
                return replace(again, raw_bytes=answer.raw_bytes, timings=answer.timings)
            answer = await live({})
        if isinstance(answer, Failed):
            return answer
        if not answer.truncated:
            await self._keep(key, self._page(asked, answer))
        return replace(answer, cache=CacheUse.MISS.value)

    def _page(self, asked: Asked, answer: Response) -> StoredPage:
        headers = keepable(answer.headers)
        return StoredPage(answer.url, answer.status, headers, answer.body, answer.chain, time.time(), self._sent(asked))

    async def _keep(self, key: str, page: StoredPage) -> None:
        if self._disk is None or not is_worth_keeping(page, self._mode):
            return
        try:
            await asyncio.to_thread(self._disk.write, key, page)
        except OSError as error:
            log.warning("a page could not be kept in the cache", reason=error.strerror)

    def _sent(self, asked: Asked) -> Headers:
        """What may tell two requests for one address apart; everything else we send is always the same."""
        given = [(name.lower(), value) for name, value in asked.headers.items()]
        return (("user-agent", self._user_agent), *sorted(given))


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
