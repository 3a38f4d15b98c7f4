"""What robots.txt allows, asked once an hour per origin."""

import asyncio
import math
import re
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

from protego import Protego

from corral.domain.hosts.limiter import Visit
from corral.domain.net.url import Target
from corral.domain.runs.outcome import Failed, FailureCode
from corral.extract.charset import decode
from corral.fetch.egress.client import Egress
from corral.fetch.faults import fault
from corral.fetch.proxy.route import RunRoute

_BUDGET_S = 3.0
_MAX_BYTES = 500 * 1024
_KEPT_S = 3600.0
_RETRY_UNREACHABLE_S = 60.0
# Where nobody answers at all, a crawl tries again itself, and would be told the same for a minute.
_RETRY_SILENT_S = 5.0
_SILENCE = frozenset({FailureCode.NETWORK, FailureCode.TIMEOUT})
# Nobody is there at all: the page would end the same way, and that says more.
_NOBODY_THERE = frozenset({"dns", "refused", "unreachable", "tls", "proxy", "connect"})
_MAX_ORIGINS = 1000
_LARGE_CHARS = 50_000  # more is matched aside
# Rules take some forty times the memory of their text.
_MAX_KEPT_CHARS = 2 * 1024 * 1024
# RFC 9309 asks for at least five.
_MAX_REDIRECTS = 5
_USER_AGENT = re.compile(r"user[- ]?agent(?:\s*:|\s)(.*)", re.IGNORECASE)
_SAYS = re.compile(r".*:|(?:user.?agent|dis\w+|allow|crawl|request|visit|site)\S*\s", re.IGNORECASE)
_TO_EVERYBODY = re.compile(r"(?:site-?maps?|host)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found for an origin. `rules` is None where everything is allowed."""

    rules: Protego | None
    is_reachable: bool
    until: float
    chars: int = 0  # of the rules' text
    failure: Failed | None = None  # why it could not be reached, where nobody answered
    is_cut: bool = False  # there was more than is read
    delay_s: float = 0.0  # that is asked for between requests


class Robots:
    def __init__(self, egress: Egress, user_agent: str) -> None:
        self._egress = egress
        self._user_agent = user_agent
        self._verdicts: OrderedDict[str, Verdict] = OrderedDict()
        self._asking: dict[str, asyncio.Lock] = {}

    async def refusal(
        self,
        target: Target,
        *,
        trusted_hosts: frozenset[str] = frozenset(),
        budget_s: float = _BUDGET_S,
        via: RunRoute | None = None,
        visit: Visit | None = None,
    ) -> Failed | None:
        """`policy:robots` where the page is disallowed. An unreachable robots.txt allows a single page."""
        verdict = await self.verdict(target, trusted_hosts=trusted_hosts, budget_s=budget_s, via=via, visit=visit)
        if verdict.rules is None:
            return None
        if visit is not None and verdict.delay_s:
            visit.slow_down(target, verdict.delay_s)
        may_fetch, asked = verdict.rules.can_fetch, (target.request_url, self._user_agent)
        is_large = verdict.chars > _LARGE_CHARS
        if await asyncio.to_thread(may_fetch, *asked) if is_large else may_fetch(*asked):
            return None
        return fault("policy:robots", f"{target.origin}/robots.txt; respect_robots=false overrides it")

    def notes(self, target: Target, *, via: RunRoute | None = None) -> dict[str, Any]:
        """For the statistics of a run that has asked: where more was said than is read."""
        known = self._verdicts.get(_place(target, via))
        if known is None or not known.is_cut:
            return {}
        return {"robots_cut": {"origin": target.origin, "read_bytes": _MAX_BYTES}}

    async def verdict(
        self,
        target: Target,
        *,
        trusted_hosts: frozenset[str] = frozenset(),
        budget_s: float = _BUDGET_S,
        via: RunRoute | None = None,
        visit: Visit | None = None,
    ) -> Verdict:
        place = _place(target, via)
        known = self._known(place)
        if known is not None:
            return known
        lock = self._asking.setdefault(place, asyncio.Lock())
        try:
            async with lock:
                known = self._known(place)
                if known is None:
                    known = await self._ask(target, trusted_hosts, budget_s, via, visit)
                    # That its gate is closed says nothing about what it allows.
                    if known.failure is None or known.failure.code is not FailureCode.WAITING:
                        self._kept(place, known)
                return known
        finally:
            if not lock.locked():
                self._asking.pop(place, None)

    def _known(self, origin: str) -> Verdict | None:
        verdict = self._verdicts.get(origin)
        return verdict if verdict is not None and verdict.until > time.monotonic() else None

    async def _ask(
        self,
        target: Target,
        trusted_hosts: frozenset[str],
        budget_s: float,
        via: RunRoute | None,
        visit: Visit | None,
    ) -> Verdict:
        answer = await self._egress.fetch(
            f"{target.origin}/robots.txt",
            timeout_s=min(budget_s, _BUDGET_S),
            max_bytes=_MAX_BYTES,
            trusted_hosts=trusted_hosts,
            follow=_MAX_REDIRECTS,
            truncate=True,
            via=via,
            visit=visit,
        )
        now = time.monotonic()
        if isinstance(answer, Failed):
            until = now + (_RETRY_SILENT_S if answer.code in _SILENCE else _RETRY_UNREACHABLE_S)
            return Verdict(None, is_reachable=False, until=until, failure=answer)
        if answer.status >= 500:
            return Verdict(None, is_reachable=False, until=now + _RETRY_UNREACHABLE_S)
        if answer.status != 200:
            return Verdict(None, is_reachable=True, until=now + _KEPT_S)
        body = _whole_lines(answer.body) if answer.truncated else answer.body
        text = _our_part(decode(body).text, self._user_agent)
        # Aside: half a megabyte of rules takes half a second, in which every other run would stand still.
        rules = await asyncio.to_thread(Protego.parse, text) if text else None
        return Verdict(
            rules,
            is_reachable=True,
            until=now + _KEPT_S,
            chars=len(text),
            is_cut=answer.truncated and bool(text),
            delay_s=_delay_s(rules, self._user_agent),
        )

    def _kept(self, origin: str, verdict: Verdict) -> None:
        self._verdicts[origin] = verdict
        self._verdicts.move_to_end(origin)
        kept_chars = sum(each.chars for each in self._verdicts.values())
        while len(self._verdicts) > _MAX_ORIGINS or (kept_chars > _MAX_KEPT_CHARS and len(self._verdicts) > 1):
            _, dropped = self._verdicts.popitem(last=False)
            kept_chars -= dropped.chars


def without_rules(target: Target, failure: Failed | None, *, is_last: bool) -> Failed:
    """What a page of a crawl fails with where robots.txt cannot be had: RFC 9309 then allows nothing of the site.

    Before the last try of the page a fault that may pass is left to pass.
    """
    more = f"{target.origin}/robots.txt; respect_robots=false overrides it"
    if failure is None:
        return fault("policy:robots_unreachable", more)
    is_own = failure.code in (FailureCode.WAITING, FailureCode.POLICY) or failure.detail in _NOBODY_THERE
    if is_own or (failure.code in _SILENCE and not is_last):
        said = f"robots.txt of the site cannot be had: {failure.message}"[:1000]
        return failure if failure.code is FailureCode.WAITING else replace(failure, message=said)
    return fault("policy:robots_unreachable", f"{more} ({failure.message})")


def _place(target: Target, via: RunRoute | None) -> str:
    # What a proxy says of a site is believed only where it is used.
    return target.origin if via is None else f"{target.origin} {via.through}"


def _delay_s(rules: Protego | None, user_agent: str) -> float:
    """Crawl-delay, or what Request-rate comes to; 0 where neither says anything usable."""
    if rules is None:
        return 0.0
    delay_s = rules.crawl_delay(user_agent)
    rate = rules.request_rate(user_agent)
    if delay_s is None and rate is not None and rate.requests:
        delay_s = rate.seconds / rate.requests
    return delay_s if delay_s is not None and 0 < delay_s < math.inf else 0.0


def _whole_lines(body: bytes) -> bytes:
    """Half a rule says something else: of `Disallow: /late` the first half forbids everything."""
    end = max(body.rfind(b"\n"), body.rfind(b"\r")) + 1
    return body[:end] if end else body


def _our_part(text: str, user_agent: str) -> str:
    """The group that is meant for us and what is said to everybody, found in two passes over the lines.

    The parser writes every rule down for every name of its group: ten thousand names with ten thousand rules would
    take it minutes and gigabytes.
    """
    # An HTML page under this name is a site that answers 200 to everything.
    if text.lstrip()[:1] == "<":
        return ""
    lines = [line for line in (each.partition("#")[0].strip() for each in text.splitlines()) if _SAYS.match(line)]
    names = {_name_in(line): None for line in lines}
    us = user_agent.strip().lower()
    ours = max((name for name in names if name), key=lambda name: _score(name, us), default="")
    kept = ["User-agent: *"]
    is_ours = in_names = False
    for line in lines:
        name = _name_in(line)
        if name is not None:
            is_ours = name == ours or (is_ours and in_names)
        elif _TO_EVERYBODY.match(line) or (is_ours and _score(ours, us)):
            kept.append(line)
        in_names = name is not None or (in_names and bool(_TO_EVERYBODY.match(line)))
    return "\n".join(kept)


def _name_in(line: str) -> str | None:
    """Whom the group that this line begins is for; None for every other line."""
    found = _USER_AGENT.match(line)
    return (found[1].strip().lower().replace("*", "") or "*") if found else None


def _score(name: str, us: str) -> int:
    """How well a name fits us: the longest that stands in ours at the start of a word, else everybody's."""
    if name == "*":
        return 1
    at = us.find(name)
    while at > 0 and (us[at - 1].isalnum() or us[at - 1] in "-_"):
        at = us.find(name, at + 1)
    return len(name) if at >= 0 else 0
