"""The pool as a worker sees it: the worker requests each proxy from its node."""

import asyncio
import itertools
from collections.abc import Callable

from corral.domain.ports.proxies import LeasedProxy
from corral.domain.proxies.choice import LeaseRequest
from corral.domain.proxies.use import ProxyUse
from corral.engine.proxies.messages import GrantProxy, ReportProxy, RequestProxy, ToProxyPool


class ProxyLeases:
    def __init__(self) -> None:
        self.say: Callable[[ToProxyPool], None] = lambda _: None
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[LeasedProxy | None]] = {}

    async def lease(self, request: LeaseRequest) -> LeasedProxy | None:
        number = next(self._numbers)
        granted: asyncio.Future[LeasedProxy | None] = asyncio.get_running_loop().create_future()
        self._waiting[number] = granted
        self.say(RequestProxy(number, request))
        try:
            return await granted
        finally:
            self._waiting.pop(number, None)

    def report(self, use: ProxyUse) -> None:
        self.say(ReportProxy(use))

    def hear(self, message: GrantProxy) -> None:
        granted = self._waiting.get(message.number)
        if granted is not None and not granted.done():
            granted.set_result(message.proxy)
