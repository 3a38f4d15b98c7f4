"""The state of the broker: whether it answers, and how many messages wait in it."""

import asyncio
from collections.abc import Mapping, Sequence

import redis.asyncio as redis
from redis.exceptions import RedisError

from corral.domain.runs.queues import EVERY_QUEUE, Queue

# For `/health` and the watchdog of a node; nodes find runs in the database regardless of the broker.
_EVERY_S = 0.5
_TIMEOUT_S = 1.0
# How the client library names the list of a queue for a step of priority.
_STEP = "\x06\x16"


class Broker:
    """Polled twice a second. `is_up` is the last result; before the first poll it is True."""

    def __init__(self, url: str, steps: Sequence[int]) -> None:
        self._is_redis = url.startswith(("redis://", "rediss://", "redis+socket://", "unix://"))
        self._url = url
        self._steps = steps
        self.problem: str | None = None
        self.depths: Mapping[Queue, int] | None = None

    @property
    def is_up(self) -> bool:
        return self.problem is None

    def has_messages(self, queues: Sequence[Queue]) -> bool:
        return self.depths is not None and any(self.depths[queue] for queue in queues)

    async def run(self) -> None:
        if not self._is_redis:
            return
        async with self._client() as client:
            while True:
                await self._poll(client)
                # The library reports a cancellation during the connect as a failed connect.
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise asyncio.CancelledError
                await asyncio.sleep(_EVERY_S)

    async def poll(self) -> None:
        """Poll once."""
        if self._is_redis:
            async with self._client() as client:
                await self._poll(client)

    def _client(self) -> "redis.Redis":
        limits = {"socket_timeout": _TIMEOUT_S, "socket_connect_timeout": _TIMEOUT_S}
        return redis.from_url(self._url, **limits)

    async def _poll(self, client: "redis.Redis") -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_S), client.pipeline(transaction=False) as pipe:
                for name in EVERY_QUEUE:
                    for step in self._steps:
                        pipe.llen(f"{name.value}{_STEP}{step}" if step else name.value)
                lengths = [int(length) for length in await pipe.execute()]
        except (RedisError, OSError, TimeoutError) as error:
            self.problem = str(error)[:200] or type(error).__name__
            self.depths = None
            return
        self.problem = None
        count = len(self._steps)
        self.depths = {
            name: sum(lengths[number * count : (number + 1) * count]) for number, name in enumerate(EVERY_QUEUE)
        }
