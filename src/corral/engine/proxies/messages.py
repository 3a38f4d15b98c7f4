"""Messages about proxies, between a worker process and the pool of its node."""

import msgspec

from corral.domain.ports.proxies import LeasedProxy
from corral.domain.proxies.choice import LeaseRequest
from corral.domain.proxies.use import ProxyUse


class RequestProxy(msgspec.Struct, frozen=True, array_like=True, tag="request_proxy"):
    """Request a proxy; answered by `GrantProxy` with the same number."""

    number: int
    request: LeaseRequest


class ReportProxy(msgspec.Struct, frozen=True, array_like=True, tag="report_proxy"):
    """The result of a granted proxy; sent once for each grant."""

    use: ProxyUse


class GrantProxy(msgspec.Struct, frozen=True, array_like=True, tag="grant_proxy"):
    """The answer to a request. `proxy` is None if the pool has none."""

    number: int
    proxy: LeasedProxy | None


ToProxyPool = RequestProxy | ReportProxy
