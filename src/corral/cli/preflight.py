"""Check a typed address before anything is started: its host must resolve."""

from corral.domain.errors import BadInput
from corral.domain.net.address import EgressPolicy
from corral.domain.net.http_cache import CacheMode
from corral.domain.net.url import parse_target
from corral.domain.runs.outcome import Failed, FailureCode
from corral.fetch.egress.client import Egress
from corral.fetch.limits import FetchLimits
from corral.settings import Settings


async def check_host(settings: Settings, url: str, trusted_hosts: tuple[str, ...] = ()) -> None:
    """Raise BadInput if the host of the address cannot be resolved.

    A run would retry for minutes, because a name server may be down for a moment. A user who mistyped a name should
    learn it at once.
    """

    if settings.http_cache is CacheMode.REPLAY:
        return  # replayed from disk, without a request
    target = parse_target(url)
    egress = Egress(EgressPolicy(settings.egress_allow), FetchLimits(), settings.user_agent)
    try:
        resolved = await egress.resolve(target, trusted_hosts=frozenset(trusted_hosts))
    finally:
        await egress.close()
    if isinstance(resolved, Failed) and resolved.code is FailureCode.NETWORK:
        raise BadInput(
            f"the host name {target.host} could not be resolved, so nothing was started",
            field="url",
            hint="check the spelling, and the name server of this machine",
            code="unresolvable",
        )
