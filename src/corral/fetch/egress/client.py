"""The one way out. Every hop is parsed, resolved, checked, pinned, bounded; nothing else opens a socket."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

import wreq

from corral.domain.errors import BadInput
from corral.domain.hosts.limiter import Visit
from corral.domain.net.address import EgressPolicy
from corral.domain.net.proxy import RouteKind
from corral.domain.net.url import BadScheme, Target, join, parse_target
from corral.domain.runs.outcome import Failed
from corral.domain.sites.cookies import RunCookies
from corral.fetch.coarse_timeout import CoarseTimeout
from corral.fetch.codings import ACCEPT_ENCODING
from corral.fetch.egress.dns import PinnedAddress, Resolver
from corral.fetch.egress.wire import Head, open_client, read_body, send
from corral.fetch.faults import fault
from corral.fetch.limits import FetchLimits
from corral.fetch.response import Response

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEPS_METHOD = frozenset({307, 308})
_DEFAULT_HEADERS = {
    "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "accept-language": "en;q=0.9,*;q=0.5",
}
_USUAL_HEADERS = {**_DEFAULT_HEADERS, "accept-encoding": ACCEPT_ENCODING}
# What may follow a redirect to another origin. A list of secrets to drop would always be one header short.
_CARRIED = frozenset({"accept", "accept-language", "user-agent"})


# How many bytes are read of a body whose answer has this status and these headers; None is as many as of any.
BodyLimit = Callable[[int, tuple[tuple[str, str], ...]], int | None]
# Whether a redirect may be followed there; why not, where it may not.
Allows = Callable[[Target], Awaitable[Failed | None]]


class Route(Protocol):
    """Where a request goes once its target is known: straight there, or through a proxy."""

    @property
    def limits(self) -> FetchLimits: ...

    def kind_for(self, target: Target) -> RouteKind: ...

    async def resolve(
        self, target: Target, *, trusted_hosts: frozenset[str] = frozenset()
    ) -> PinnedAddress | Failed: ...

    async def ask(
        self,
        target: Target,
        pinned: PinnedAddress,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        first_byte_s: float | None = None,
    ) -> Head | Failed: ...


class Egress:
    def __init__(self, policy: EgressPolicy, limits: FetchLimits, user_agent: str) -> None:
        self._limits = limits
        self._user_agent = user_agent
        self._resolver = Resolver(policy, limits)
        self._clients: OrderedDict[tuple[str, tuple[str, ...], bool], wreq.Client] = OrderedDict()

    async def resolve(self, target: Target, *, trusted_hosts: frozenset[str] = frozenset()) -> PinnedAddress | Failed:
        """Where the target may be dialled, or `policy:egress` or `network:dns`."""
        return await self._resolver.resolve(target, trusted_hosts)

    async def fetch(
        self,
        url: str,
        *,
        timeout_s: float,
        max_bytes: int | None = None,
        headers: Mapping[str, str] | None = None,
        trusted_hosts: frozenset[str] = frozenset(),
        follow: int = 10,
        truncate: bool = False,
        body: bytes | None = None,
        credentials: Callable[[Target], Mapping[str, str]] | None = None,
        via: Route | None = None,
        cookies: RunCookies | None = None,
        visit: Visit | None = None,
        allows: Allows | None = None,
        body_limit: BodyLimit | None = None,
        first_byte_s: float | None = None,
    ) -> Response | Failed:
        """The answer after at most `follow` redirects. `truncate` keeps the start of a larger body.

        With a `body` it is a POST; a redirect carries that on only where the status says so, within its origin.

        `credentials` are asked for at every hop: what one target may know another may not. `cookies` are those of the
        run; without any, what is set on the way is kept for this fetch. `visit` takes the turns at the hosts.
        `allows` is asked before a redirect is followed. A `body_limit` of 0 reads nothing of the body.
        `first_byte_s` raises how long an answer may take to begin.
        """
        walk = _RedirectFollower(via or self, headers or {}, trusted_hosts, follow, credentials)
        walk.body = body
        walk.visit = visit
        walk.allows = allows
        walk.body_limit = body_limit
        walk.first_byte_s = first_byte_s
        if cookies is not None:
            walk.cookies = cookies
        size = self._limits.max_bytes if max_bytes is None else max_bytes
        try:
            async with CoarseTimeout(timeout_s):
                return await walk.run(url, size, truncate=truncate)
        except TimeoutError:
            return fault("timeout:total", f"{timeout_s:.3g} s", timings=walk.timings())

    async def ask(
        self,
        target: Target,
        pinned: PinnedAddress,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        verifies_tls: bool = True,
        first_byte_s: float | None = None,
    ) -> Head | Failed:
        """One request, no redirect followed, no body read."""
        client = self._client(pinned, verifies_tls)
        url, limits = target.request_url, self._limits
        return await send(client, url, pinned, headers, limits, body=body, first_byte_s=first_byte_s)

    @property
    def limits(self) -> FetchLimits:
        return self._limits

    def kind_for(self, target: Target) -> RouteKind:  # noqa: ARG002 - the same for every target
        return RouteKind.DIRECT

    @property
    def user_agent(self) -> str:
        return self._user_agent

    async def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()
        self._resolver.close()

    def _client(self, pinned: PinnedAddress, verifies_tls: bool) -> wreq.Client:
        # Apart: a connection whose certificate nobody looked at must not be there for those who look.
        key = (pinned.host, pinned.ips, verifies_tls)
        client = self._clients.get(key)
        if client is None:
            client = self._clients[key] = open_client(pinned, self._limits, self._user_agent, verifies_tls=verifies_tls)
            # Dropped, not closed: closing would cancel the requests that still run on it.
            while len(self._clients) > self._limits.max_clients:
                self._clients.popitem(last=False)
        self._clients.move_to_end(key)
        return client


class _RedirectFollower:
    """One fetch on its way through redirects."""

    def __init__(
        self,
        egress: Route,
        headers: Mapping[str, str],
        trusted_hosts: frozenset[str],
        follow: int,
        credentials: Callable[[Target], Mapping[str, str]] | None,
    ) -> None:
        self._egress = egress
        self._credentials = credentials
        self.body: bytes | None = None
        self.visit: Visit | None = None
        self.allows: Allows | None = None
        self.first_byte_s: float | None = None
        self.body_limit: BodyLimit | None = None
        self.cookies = RunCookies()
        self._seen: set[tuple[str, int]] = set()
        self._headers = _USUAL_HEADERS.copy()
        if headers:
            given = {name.lower(): value for name, value in headers.items()}
            self._headers = {**_DEFAULT_HEADERS, **given, "accept-encoding": ACCEPT_ENCODING}
        self._trusted_hosts = trusted_hosts
        self._follow = follow
        self._chain: list[str] = []
        self._started = time.monotonic()
        self._marks: dict[str, int] = {}

    def timings(self) -> dict[str, int]:
        return {**self._marks, "total_ms": self._elapsed_ms()}

    async def run(self, url: str, max_bytes: int, *, truncate: bool) -> Response | Failed:
        target = _parsed(url)
        while not isinstance(target, Failed):
            head = await self._ask(target)
            if isinstance(head, Failed):
                return self._told(head)
            if head.status in _REDIRECTS:
                await head.answer.close()
                target = await self._allowed(self._next(target, head))
                continue
            return await self._answer(target, head, max_bytes, truncate=truncate)
        return self._told(target)

    async def _allowed(self, following: Target | Failed) -> Target | Failed:
        if self.allows is None or isinstance(following, Failed):
            return following
        return await self.allows(following) or following

    async def _ask(self, target: Target) -> Head | Failed:
        pinned = await self._egress.resolve(target, trusted_hosts=self._trusted_hosts)
        self._marks["dns_ms"] = self._elapsed_ms()
        if isinstance(pinned, Failed):
            return pinned
        known_by = dict(self._credentials(target)) if self._credentials else {}
        now_s = time.time()
        if sent := self.cookies.header_for(target, now_s, known_by.get("cookie", "")):
            known_by["cookie"] = sent
        self._seen.add((target.request_url, self.cookies.version))
        if (refused := await self._enter(target)) is not None:
            return refused
        began = time.monotonic()
        sent_headers = {**self._headers, **known_by}
        head = await self._egress.ask(target, pinned, sent_headers, self.body, first_byte_s=self.first_byte_s)
        if isinstance(head, Head):
            if self.visit is not None:
                told = next((value for name, value in head.headers if name == "retry-after"), None)
                self.visit.answered(target, head.status, time.monotonic() - began, told)
            self.cookies.take(target, (value for name, value in head.headers if name == "set-cookie"), now_s)
        self._marks["first_byte_ms"] = self._elapsed_ms()
        return head

    async def _enter(self, target: Target) -> Failed | None:
        return None if self.visit is None else await self.visit.enter(target, self._egress.kind_for(target))

    async def _answer(self, target: Target, head: Head, max_bytes: int, *, truncate: bool) -> Response | Failed:
        limit = None if self.body_limit is None else self.body_limit(head.status, head.headers)
        if limit == 0:
            await head.answer.close()
            return Response(target.url, head.status, head.headers, b"", 0, tuple(self._chain), True, self.timings())
        size, limits = limit or max_bytes, self._egress.limits
        body = await read_body(head, size, limits, truncate=truncate, first_byte_s=self.first_byte_s)
        if isinstance(body, Failed):
            await head.answer.close()
            return self._told(body)
        if body.truncated:
            await head.answer.close()
        return Response(
            url=target.url,
            status=head.status,
            headers=head.headers,
            body=body.whole(),
            raw_bytes=body.raw_bytes,
            chain=tuple(self._chain),
            truncated=body.truncated,
            timings=self.timings(),
        )

    def _next(self, target: Target, head: Head) -> Target | Failed:
        self._chain.append(target.request_url)
        if not head.location:
            return fault("bad_response:location", "no Location header")
        try:
            reference = head.location.decode("utf-8")
        except UnicodeDecodeError:
            return fault("bad_response:location", "it is not valid UTF-8")
        following = _joined(target, reference)
        if isinstance(following, Failed):
            return following
        if (following.request_url, self.cookies.version) in self._seen:
            return fault("limit:redirects", f"a loop: {self._shown(following)}", chain=self._chain[:])
        if len(self._chain) > self._follow:
            return fault(
                "limit:redirects",
                f"more than {self._follow}: {self._shown(following)}",
                chain=self._chain[:],
            )
        if following.origin != target.origin or head.status not in _KEEPS_METHOD:
            self.body = None
            self._headers.pop("content-type", None)
        if following.origin != target.origin:
            self._headers = {
                name: value for name, value in self._headers.items() if name in _CARRIED or name == "accept-encoding"
            }
        return following

    def _shown(self, following: Target) -> str:
        return " -> ".join(url[:120] for url in [*self._chain, following.request_url])

    def _told(self, failure: Failed) -> Failed:
        failure.stats.setdefault("timings", self.timings())
        return failure

    def _elapsed_ms(self) -> int:
        return round((time.monotonic() - self._started) * 1000)


def _parsed(url: str) -> Target | Failed:
    try:
        # Longer than a person may type: links and stored redirects pass here too.
        return parse_target(url, field="url", max_chars=8192)
    except BadScheme as problem:
        return fault("policy:scheme", problem.message)
    except BadInput as problem:
        return fault("policy:url", problem.message)


def _joined(base: Target, reference: str) -> Target | Failed:
    try:
        return join(base, reference)
    except BadScheme as problem:
        return fault("policy:scheme", problem.message)
    except BadInput as problem:
        return fault("policy:url", problem.message)
