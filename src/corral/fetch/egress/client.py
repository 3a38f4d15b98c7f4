"""The only code that opens outgoing connections: it parses, resolves, checks, pins and bounds every hop."""

import time
from collections import OrderedDict

import wreq

from corral.domain.errors import BadInput
from corral.domain.net.address import EgressPolicy
from corral.domain.net.proxy import RouteKind
from corral.domain.net.url import BadScheme, Target, join, parse_target
from corral.domain.runs.outcome import Deferred, Failed
from corral.domain.sites.cookies import RunCookies
from corral.fetch.coarse_timeout import CoarseTimeout
from corral.fetch.codings import ACCEPT_ENCODING
from corral.fetch.egress.context import NO_CONTEXT, FetchContext, FetchRequest, Route
from corral.fetch.egress.dns import PinnedAddress, Resolver
from corral.fetch.egress.wire import Head, HopRequest, open_client, read_body, send
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
# Headers that may follow a redirect to another origin. An allow list: a list of secrets to drop is never complete.
_CARRIED = frozenset({"accept", "accept-language", "user-agent"})


class Egress:
    def __init__(self, policy: EgressPolicy, limits: FetchLimits, user_agent: str) -> None:
        self._limits = limits
        self._user_agent = user_agent
        self._resolver = Resolver(policy, limits)
        self._clients: OrderedDict[tuple[str, tuple[str, ...], bool], wreq.Client] = OrderedDict()

    async def resolve(self, target: Target, *, trusted_hosts: frozenset[str] = frozenset()) -> PinnedAddress | Failed:
        """Return the addresses that may be dialled, or `policy:egress` or `network:dns`."""
        return await self._resolver.resolve(target, trusted_hosts)

    async def fetch(self, request: FetchRequest, context: FetchContext = NO_CONTEXT) -> Response | Failed | Deferred:
        """Send the request, follow its redirects, and read the body of the last answer.

        A redirect keeps the request body only if its status says so and it stays within the origin.
        """
        follower = _RedirectFollower(context.route or self, request, context)
        try:
            async with CoarseTimeout(request.timeout_s):
                return await follower.run()
        except TimeoutError:
            return fault("timeout:total", f"{request.timeout_s:.3g} s", timings=follower.timings())

    async def send(self, request: HopRequest, *, verifies_tls: bool = True) -> Head | Failed:
        """Send one request directly, without following a redirect or reading a body."""
        return await send(self._client(request.pinned, verifies_tls), request, self._limits)

    @property
    def name(self) -> str:
        return ""

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
        # A connection with an unverified certificate must not be reused by requests that verify it.
        key = (pinned.host, pinned.ips, verifies_tls)
        client = self._clients.get(key)
        if client is None:
            client = self._clients[key] = open_client(pinned, self._limits, self._user_agent, verifies_tls=verifies_tls)
            # Drop the client without closing it: closing would cancel the requests that still run on it.
            while len(self._clients) > self._limits.max_clients:
                self._clients.popitem(last=False)
        self._clients.move_to_end(key)
        return client


class _RedirectFollower:
    """One fetch with its redirects: the state that changes from hop to hop."""

    def __init__(self, route: Route, request: FetchRequest, context: FetchContext) -> None:
        self._route = route
        self._request = request
        self._context = context
        self._body = request.body
        self._cookies = RunCookies() if context.cookies is None else context.cookies
        self._headers = _USUAL_HEADERS.copy()
        if request.headers:
            own = {name.lower(): value for name, value in request.headers.items()}
            self._headers = {**_DEFAULT_HEADERS, **own, "accept-encoding": ACCEPT_ENCODING}
        self._seen: set[tuple[str, int]] = set()
        self._chain: list[str] = []
        self._started = time.monotonic()
        self._marks: dict[str, int] = {}

    def timings(self) -> dict[str, int]:
        return {**self._marks, "total_ms": self._measure_ms()}

    async def run(self) -> Response | Failed | Deferred:
        target: Target | Failed | Deferred = _parse_url(self._request.url)
        while isinstance(target, Target):
            head = await self._send(target)
            if not isinstance(head, Head):
                return head if isinstance(head, Deferred) else self._add_timings(head)
            if head.status in _REDIRECTS:
                await head.answer.close()
                target = await self._check(self._next(target, head))
                continue
            return await self._read(target, head)
        return target if isinstance(target, Deferred) else self._add_timings(target)

    async def _check(self, following: Target | Failed) -> Target | Failed | Deferred:
        check = self._request.check_redirect
        if check is None or isinstance(following, Failed):
            return following
        return await check(following) or following

    async def _send(self, target: Target) -> Head | Failed | Deferred:
        context = self._context
        pinned = await self._route.resolve(target, trusted_hosts=context.trusted_hosts)
        self._marks["dns_ms"] = self._measure_ms()
        if isinstance(pinned, Failed):
            return pinned
        credentials = dict(context.credentials(target)) if context.credentials else {}
        now_s = time.time()
        if cookies := self._cookies.header_for(target, now_s, credentials.get("cookie", "")):
            credentials["cookie"] = cookies
        self._seen.add((target.request_url, self._cookies.version))
        if (deferred := await self._enter(target)) is not None:
            return deferred
        began = time.monotonic()
        headers = {**self._headers, **credentials}
        if context.meter is not None:
            context.meter.requests += 1
        head = await self._route.send(HopRequest(target, pinned, headers, self._body, context.first_byte_s))
        if isinstance(head, Head):
            if context.visit is not None:
                retry_after = next((value for name, value in head.headers if name == "retry-after"), None)
                context.visit.record_answer(target, head.status, time.monotonic() - began, retry_after)
            self._cookies.take(target, (value for name, value in head.headers if name == "set-cookie"), now_s)
        self._marks["first_byte_ms"] = self._measure_ms()
        return head

    async def _enter(self, target: Target) -> Deferred | None:
        visit = self._context.visit
        return None if visit is None else await visit.enter(target, self._route.kind_for(target))

    async def _read(self, target: Target, head: Head) -> Response | Failed:
        request, limits = self._request, self._route.limits
        limit = None if request.body_limit is None else request.body_limit(head.status, head.headers)
        if limit == 0:
            await head.answer.close()
            return Response(target.url, head.status, head.headers, b"", 0, tuple(self._chain), True, self.timings())
        max_bytes = limit or (limits.max_bytes if request.max_bytes is None else request.max_bytes)
        first_byte_s = self._context.first_byte_s
        body = await read_body(head, max_bytes, limits, truncate=request.truncate, first_byte_s=first_byte_s)
        if isinstance(body, Failed):
            await head.answer.close()
            return self._add_timings(body)
        if body.truncated:
            await head.answer.close()
        if self._context.meter is not None:
            self._context.meter.size += body.raw_bytes
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
            return fault("bad_response:location", "the Location header is not valid UTF-8")
        following = _join_url(target, reference)
        if isinstance(following, Failed):
            return following
        if (following.request_url, self._cookies.version) in self._seen:
            return fault("limit:redirects", f"redirect loop: {self._join_chain(following)}", chain=self._chain[:])
        if len(self._chain) > self._request.max_redirects:
            return fault(
                "limit:redirects",
                f"more than {self._request.max_redirects}: {self._join_chain(following)}",
                chain=self._chain[:],
            )
        if following.origin != target.origin or head.status not in _KEEPS_METHOD:
            self._body = None
            self._headers.pop("content-type", None)
        if following.origin != target.origin:
            self._headers = {
                name: value for name, value in self._headers.items() if name in _CARRIED or name == "accept-encoding"
            }
        return following

    def _join_chain(self, following: Target) -> str:
        return " -> ".join(url[:120] for url in [*self._chain, following.request_url])

    def _add_timings(self, failure: Failed) -> Failed:
        failure.stats.setdefault("timings", self.timings())
        return failure

    def _measure_ms(self) -> int:
        return round((time.monotonic() - self._started) * 1000)


def _parse_url(url: str) -> Target | Failed:
    try:
        # Longer than a job's URL may be: links and stored redirects pass through here too.
        return parse_target(url, field="url", max_chars=8192)
    except BadScheme as problem:
        return fault("policy:scheme", problem.message)
    except BadInput as problem:
        return fault("policy:url", problem.message)


def _join_url(base: Target, reference: str) -> Target | Failed:
    try:
        return join(base, reference)
    except BadScheme as problem:
        return fault("policy:scheme", problem.message)
    except BadInput as problem:
        return fault("policy:url", problem.message)
