"""What a person who typed an address wants to know within seconds: that its host does not exist."""

from corral.domain.errors import BadInput
from corral.domain.net.address import EgressPolicy
from corral.domain.net.http_cache import CacheMode
from corral.domain.net.url import parse_target
from corral.domain.runs.outcome import Failed, FailureCode
from corral.fetch.egress.client import Egress
from corral.fetch.limits import FetchLimits
from corral.settings import Settings


async def check_host(settings: Settings, url: str, trusted_hosts: tuple[str, ...] = ()) -> None:
    """BadInput where the host of the address cannot be resolved.

    A run would try again, with minutes in between, because a name server may be away for a moment. A person who
    mistyped a name would only wait.
    """

    if settings.http_cache is CacheMode.REPLAY:
        return  # replayed from disk, without a request
    target = parse_target(url)
    egress = Egress(EgressPolicy(settings.egress_allow), FetchLimits(), settings.user_agent)
    try:
        found = await egress.resolve(target, trusted_hosts=frozenset(trusted_hosts))
    finally:
        await egress.close()
    if isinstance(found, Failed) and found.code is FailureCode.NETWORK:
        raise BadInput(
            f"the host name {target.host} could not be resolved, so nothing was started",
            field="url",
            hint="check the spelling, and the name server of this machine",
            code="unresolvable",
        )
