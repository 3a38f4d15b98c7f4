"""The values of one fetch: the context shared by a run's requests, one request, and one hop."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Protocol

from corral.domain.hosts.limiter import Visit
from corral.domain.net.proxy import RouteKind
from corral.domain.net.url import Target
from corral.domain.runs.outcome import Deferred, Failed
from corral.domain.sites.cookies import RunCookies
from corral.fetch.egress.dns import PinnedAddress
from corral.fetch.egress.wire import Head, HopRequest
from corral.fetch.limits import FetchLimits

# Returns how many bytes of the body to read for a status and its headers; None applies the request's own limit.
BodyLimit = Callable[[int, tuple[tuple[str, str], ...]], int | None]
# Returns the headers that authenticate us to one target: credentials for one host must not reach another.
Credentials = Callable[[Target], Mapping[str, str]]
# Returns why a redirect to the target must not be followed, or None.
RedirectCheck = Callable[[Target], Awaitable[Failed | Deferred | None]]


@dataclass(slots=True)
class CostMeter:
    """Counts the resources that one page, or one attempt, uses."""

    requests: int = 0
    size: int = 0
    browser_ms: int = 0
    cpu_ms: int = 0

    def document(self) -> dict[str, int]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


class Route(Protocol):
    """How requests reach a target: directly, without verifying its certificate, or through a proxy."""

    @property
    def name(self) -> str:
        """The name of the route; empty if direct. It separates robots rules and cached pages of different routes."""
        ...

    @property
    def limits(self) -> FetchLimits: ...

    def kind_for(self, target: Target) -> RouteKind: ...

    async def resolve(
        self, target: Target, *, trusted_hosts: frozenset[str] = frozenset()
    ) -> PinnedAddress | Failed: ...

    async def send(self, request: HopRequest) -> Head | Failed: ...


@dataclass(frozen=True, slots=True)
class FetchContext:
    """The settings that all requests of a run, or of one crawled page, share."""

    trusted_hosts: frozenset[str] = frozenset()  # private hosts that this run may reach
    route: Route | None = None  # None is direct
    visit: Visit | None = None  # holds a slot at each host that the run requests
    credentials: Credentials | None = None
    cookies: RunCookies | None = None  # with None, cookies last for one fetch only
    first_byte_s: float | None = None  # raises FetchLimits.first_byte_s
    meter: "CostMeter | None" = None  # counts the requests

    @property
    def route_name(self) -> str:
        return "" if self.route is None else self.route.name

    def anonymous(self) -> "FetchContext":
        """Return the same hosts, route and limiter slots without anything that identifies the run or its job."""
        return replace(self, credentials=None, cookies=None, first_byte_s=None)


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """One URL, and how much of its answer to read. With a `body`, the method is POST."""

    url: str
    timeout_s: float
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    max_redirects: int = 10
    check_redirect: RedirectCheck | None = None
    max_bytes: int | None = None  # None applies FetchLimits.max_bytes
    truncate: bool = False  # keep the first `max_bytes` of a larger body instead of failing
    body_limit: BodyLimit | None = None  # 0 reads nothing of the body


NO_CONTEXT = FetchContext()
