"""Looking after the broker must end when it is told to, in whatever moment."""

import asyncio

from corral.transport.broker import Broker
from tests.services import RedisServer


async def test_a_look_at_the_broker_ends_when_it_is_told_to(redis_server: RedisServer) -> None:
    """While it connects, too: the library takes that for a failure to connect, and the watch went on for ever."""
    for number in range(60):
        watch = asyncio.create_task(Broker(redis_server.url(12), [0, 3]).run())
        await asyncio.sleep(number / 10_000)
        watch.cancel()
        done, _ = await asyncio.wait({watch}, timeout=10)
        assert done
