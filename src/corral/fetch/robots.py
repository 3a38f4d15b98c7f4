"""What robots.txt allows, asked once an hour per origin."""

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass

from protego import Protego

from corral.domain.outcome import Failed
from corral.domain.url import Target
from corral.extract.charset import decode
from corral.fetch.egress import Egress
from corral.fetch.faults import fault

_BUDGET_S = 3.0
_MAX_BYTES = 500 * 1024
_KEPT_S = 3600.0
_RETRY_UNREACHABLE_S = 60.0
_MAX_ORIGINS = 1000
# RFC 9309 asks for at least five.
_MAX_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found for an origin. `rules` is None where everything is allowed."""

    rules: Protego | None
    is_reachable: bool
    until: float


class Robots:
    def __init__(self, egress: Egress, user_agent: str) -> None:
        self._egress = egress
        self._user_agent = user_agent
        self._verdicts: OrderedDict[str, Verdict] = OrderedDict()
        self._asking: dict[str, asyncio.Lock] = {}

    async def refusal(
        self, target: Target, *, trusted_hosts: frozenset[str] = frozenset(), budget_s: float = _BUDGET_S
    ) -> Failed | None:
        """`policy:robots` where the page is disallowed. An unreachable robots.txt allows a single page."""
        verdict = await self.verdict(target, trusted_hosts=trusted_hosts, budget_s=budget_s)
        if verdict.rules is None or verdict.rules.can_fetch(target.request_url, self._user_agent):
            return None
        return fault("policy:robots", f"{target.origin}/robots.txt; respect_robots=false overrides it")

    async def verdict(
        self, target: Target, *, trusted_hosts: frozenset[str] = frozenset(), budget_s: float = _BUDGET_S
    ) -> Verdict:
        known = self._known(target.origin)
        if known is not None:
            return known
        lock = self._asking.setdefault(target.origin, asyncio.Lock())
        try:
            async with lock:
                known = self._known(target.origin)
                return known or await self._ask(target, trusted_hosts, budget_s)
        finally:
            if not lock.locked():
                self._asking.pop(target.origin, None)

    def _known(self, origin: str) -> Verdict | None:
        verdict = self._verdicts.get(origin)
        return verdict if verdict is not None and verdict.until > time.monotonic() else None

    async def _ask(self, target: Target, trusted_hosts: frozenset[str], budget_s: float) -> Verdict:
        answer = await self._egress.fetch(
            f"{target.origin}/robots.txt",
            timeout_s=min(budget_s, _BUDGET_S),
            max_bytes=_MAX_BYTES,
            trusted_hosts=trusted_hosts,
            follow=_MAX_REDIRECTS,
            truncate=True,
        )
        now = time.monotonic()
        if isinstance(answer, Failed) or answer.status >= 500:
            verdict = Verdict(None, is_reachable=False, until=now + _RETRY_UNREACHABLE_S)
        elif answer.status != 200:
            verdict = Verdict(None, is_reachable=True, until=now + _KEPT_S)
        else:
            verdict = Verdict(_parsed(answer.body), is_reachable=True, until=now + _KEPT_S)
        self._verdicts[target.origin] = verdict
        self._verdicts.move_to_end(target.origin)
        while len(self._verdicts) > _MAX_ORIGINS:
            self._verdicts.popitem(last=False)
        return verdict


def _parsed(body: bytes) -> Protego | None:
    text = decode(body).text
    # An HTML page under this name is a site that answers 200 to everything.
    if text.lstrip()[:1] == "<":
        return None
    return Protego.parse(text)
