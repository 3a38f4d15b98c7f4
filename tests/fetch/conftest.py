from collections.abc import AsyncIterator

import pytest

from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.fetch.egress.client import Egress
from corral.fetch.limits import FetchLimits
from tests.fetch.hostile import Hostile, hostile_server

# Short enough for a test, long enough for a busy machine, in the same order as the real ones.
QUICK = FetchLimits(connect_s=2.5, first_byte_s=3.0, gap_s=3.0)


@pytest.fixture
async def hostile() -> AsyncIterator[Hostile]:
    async with hostile_server() as server:
        yield server


@pytest.fixture
async def egress(hostile: Hostile) -> AsyncIterator[Egress]:
    """Allowed to reach the hostile server and nothing else that is private."""
    policy = EgressPolicy((AllowEntry.parse(f"127.0.0.1/32:{hostile.port}"),))
    made = Egress(policy, QUICK, "corral-test")
    yield made
    await made.close()
