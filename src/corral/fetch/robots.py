"""Fetch the rules of robots.txt, once an hour per origin, and apply them."""

import asyncio
import math
import re
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

from protego import Protego

from corral.domain.net.url import Target
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, WaitReason
from corral.extract.charset import decode
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import NO_CONTEXT, FetchContext, FetchRequest
from corral.fetch.faults import fault

_BUDGET_S = 3.0
_MAX_BYTES = 500 * 1024
_CACHE_S = 3600.0
_RETRY_UNREACHABLE_S = 60.0
# A crawl retries a silent host itself; a longer cache time would give each retry the same cached failure.
_RETRY_SILENT_S = 5.0
_SILENCE = frozenset({FailureCode.NETWORK, FailureCode.TIMEOUT})
# Requests for robots.txt before a page that needs it fails: after silence, and after a server error.
_SILENT_TRIES = 4
_ERROR_TRIES = 2
# The host is unreachable: the page would fail in the same way, and its own failure is more specific.
_UNREACHABLE = frozenset({"dns", "refused", "unreachable", "tls", "proxy", "connect"})
_MAX_ORIGINS = 1000
_LARGE_CHARS = 50_000  # larger rules are matched in a thread
# Parsed rules take about forty times the memory of their text.
_MAX_CACHED_CHARS = 2 * 1024 * 1024
# RFC 9309 requires at least five.
_MAX_REDIRECTS = 5
_USER_AGENT = re.compile(r"user[- ]?agent(?:\s*:|\s)(.*)", re.IGNORECASE)
_DIRECTIVE = re.compile(r".*:|(?:user.?agent|dis\w+|allow|crawl|request|visit|site)\S*\s", re.IGNORECASE)
_GLOBAL_DIRECTIVE = re.compile(r"(?:site-?maps?|host)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules of one origin. `parser` is None if everything is allowed."""

    parser: Protego | None
    is_reachable: bool
    until: float
    chars: int = 0  # length of the text that was parsed
    failure: Failed | Deferred | None = None  # why robots.txt could not be fetched
    is_truncated: bool = False  # robots.txt is larger than the part that is read
    delay_s: float = 0.0  # delay between two requests, from Crawl-delay or Request-rate
    tries: int = 0  # requests in a row that gave no rules


class Robots:
    def __init__(self, egress: Egress, user_agent: str) -> None:
        self._egress = egress
        self._user_agent = user_agent
        self._rules: OrderedDict[str, RobotsRules] = OrderedDict()
        self._locks: dict[str, asyncio.Lock] = {}

    async def refusal(
        self, target: Target, context: FetchContext = NO_CONTEXT, *, budget_s: float = _BUDGET_S
    ) -> Failed | None:
        """Return `policy:robots` if the page is disallowed. An unreachable robots.txt allows a single page."""
        rules = await self.load_rules(target, context, budget_s=budget_s)
        if rules.parser is None:
            return None
        if context.visit is not None and rules.delay_s:
            context.visit.slow_down(target, rules.delay_s)
        can_fetch, arguments = rules.parser.can_fetch, (target.request_url, self._user_agent)
        is_large = rules.chars > _LARGE_CHARS
        if await asyncio.to_thread(can_fetch, *arguments) if is_large else can_fetch(*arguments):
            return None
        return fault("policy:robots", f"{target.origin}/robots.txt; respect_robots=false overrides it")

    def notes(self, target: Target, context: FetchContext = NO_CONTEXT) -> dict[str, Any]:
        """Return statistics for a run that used the rules: whether robots.txt was truncated."""
        rules = self._rules.get(_cache_key(target, context))
        if rules is None or not rules.is_truncated:
            return {}
        return {"robots_truncated": {"origin": target.origin, "read_bytes": _MAX_BYTES}}

    async def load_rules(
        self, target: Target, context: FetchContext = NO_CONTEXT, *, budget_s: float = _BUDGET_S
    ) -> RobotsRules:
        key = _cache_key(target, context)
        rules = self._find(key)
        if rules is not None:
            return rules
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                rules = self._find(key)
                if rules is None:
                    rules = self._count_try(key, await self._fetch(target, context, budget_s))
                    # A request that the host limiter deferred says nothing about what the site allows.
                    if not isinstance(rules.failure, Deferred):
                        self._store(key, rules)
                return rules
        finally:
            if not lock.locked():
                self._locks.pop(key, None)

    def _count_try(self, key: str, rules: RobotsRules) -> RobotsRules:
        before = self._rules.get(key)
        tries = 0 if before is None or before.is_reachable else before.tries
        return rules if rules.is_reachable else replace(rules, tries=tries + 1)

    def _find(self, key: str) -> RobotsRules | None:
        rules = self._rules.get(key)
        return rules if rules is not None and rules.until > time.monotonic() else None

    async def _fetch(self, target: Target, context: FetchContext, budget_s: float) -> RobotsRules:
        request = FetchRequest(
            f"{target.origin}/robots.txt",
            timeout_s=min(budget_s, _BUDGET_S),
            max_bytes=_MAX_BYTES,
            max_redirects=_MAX_REDIRECTS,
            truncate=True,
        )
        answer = await self._egress.fetch(request, context.anonymous())
        now = time.monotonic()
        if isinstance(answer, Deferred):
            return RobotsRules(None, is_reachable=False, until=now, failure=answer)
        if isinstance(answer, Failed):
            until = now + (_RETRY_SILENT_S if answer.code in _SILENCE else _RETRY_UNREACHABLE_S)
            return RobotsRules(None, is_reachable=False, until=until, failure=answer)
        if answer.status >= 500:
            return RobotsRules(None, is_reachable=False, until=now + _RETRY_UNREACHABLE_S)
        if answer.status != 200:
            return RobotsRules(None, is_reachable=True, until=now + _CACHE_S)
        body = _whole_lines(answer.body) if answer.truncated else answer.body
        text = _select_group(decode(body).text, self._user_agent)
        # In a thread: half a megabyte of rules takes half a second, which would block every other run.
        parser = await asyncio.to_thread(Protego.parse, text) if text else None
        return RobotsRules(
            parser,
            is_reachable=True,
            until=now + _CACHE_S,
            chars=len(text),
            is_truncated=answer.truncated and bool(text),
            delay_s=_delay_s(parser, self._user_agent),
        )

    def _store(self, key: str, rules: RobotsRules) -> None:
        self._rules[key] = rules
        self._rules.move_to_end(key)
        chars = sum(each.chars for each in self._rules.values())
        while len(self._rules) > _MAX_ORIGINS or (chars > _MAX_CACHED_CHARS and len(self._rules) > 1):
            _, dropped = self._rules.popitem(last=False)
            chars -= dropped.chars


def wait_for_rules(target: Target, rules: RobotsRules) -> Failed | Deferred:
    """Defer a page whose robots.txt could not be fetched; after several requests, return the failure.

    For callers that count attempts: waiting for robots.txt is not an attempt.
    """
    failure = rules.failure
    if failure is None:
        max_tries = _ERROR_TRIES
    else:
        max_tries = _SILENT_TRIES if isinstance(failure, Failed) and failure.code in _SILENCE else 0
    if rules.tries < max_tries:
        return Deferred(target.host, WaitReason.ROBOTS, max(0.0, rules.until - time.monotonic()))
    return without_rules(target, rules.failure, is_last=True)


def without_rules(target: Target, failure: Failed | Deferred | None, *, is_last: bool) -> Failed | Deferred:
    """Return the failure of a crawled page whose robots.txt is unreachable: RFC 9309 then disallows the whole site.

    Before the last attempt at the page, a temporary fault stays temporary.
    """
    if isinstance(failure, Deferred):
        return failure
    more = f"{target.origin}/robots.txt; respect_robots=false overrides it"
    if failure is None:
        return fault("policy:robots_unreachable", more)
    is_own = failure.code is FailureCode.POLICY or failure.detail in _UNREACHABLE
    if is_own or (failure.code in _SILENCE and not is_last):
        return replace(failure, message=f"robots.txt cannot be fetched: {failure.message}"[:1000])
    return fault("policy:robots_unreachable", f"{more} ({failure.message})")


def _cache_key(target: Target, context: FetchContext) -> str:
    # Rules fetched through one proxy are not trusted for requests by another route.
    return f"{target.origin} {context.route_name}".rstrip()


def _delay_s(parser: Protego | None, user_agent: str) -> float:
    """Return Crawl-delay, or the delay that Request-rate implies, or 0."""
    if parser is None:
        return 0.0
    delay_s = parser.crawl_delay(user_agent)
    rate = parser.request_rate(user_agent)
    if delay_s is None and rate is not None and rate.requests:
        delay_s = rate.seconds / rate.requests
    return delay_s if delay_s is not None and 0 < delay_s < math.inf else 0.0


def _whole_lines(body: bytes) -> bytes:
    """Drop the last, incomplete line: cut in half, `Disallow: /late` would disallow everything."""
    end = max(body.rfind(b"\n"), body.rfind(b"\r")) + 1
    return body[:end] if end else body


def _select_group(text: str, user_agent: str) -> str:
    """Return the group that applies to our user agent and the global directives, in two passes over the lines.

    The parser copies every rule for every name of its group: ten thousand names with ten thousand rules would take
    it minutes and gigabytes.
    """
    # An HTML page here means that the site answers 200 to every path.
    if text.lstrip()[:1] == "<":
        return ""
    lines = [line for line in (each.partition("#")[0].strip() for each in text.splitlines()) if _DIRECTIVE.match(line)]
    names = {_user_agent_in(line): None for line in lines}
    own_name = user_agent.strip().lower()
    ours = max((name for name in names if name), key=lambda name: _score(name, own_name), default="")
    group = ["User-agent: *"]
    is_ours = in_names = False
    for line in lines:
        name = _user_agent_in(line)
        if name is not None:
            is_ours = name == ours or (is_ours and in_names)
        elif _GLOBAL_DIRECTIVE.match(line) or (is_ours and _score(ours, own_name)):
            group.append(line)
        in_names = name is not None or (in_names and bool(_GLOBAL_DIRECTIVE.match(line)))
    return "\n".join(group)


def _user_agent_in(line: str) -> str | None:
    """Return the user agent that the line names; None for any other directive."""
    found = _USER_AGENT.match(line)
    return (found[1].strip().lower().replace("*", "") or "*") if found else None


def _score(name: str, own_name: str) -> int:
    """Rank a name: the longest one that starts a word of our user agent wins, `*` comes last."""
    if name == "*":
        return 1
    at = own_name.find(name)
    while at > 0 and (own_name[at - 1].isalnum() or own_name[at - 1] in "-_"):
        at = own_name.find(name, at + 1)
    return len(name) if at >= 0 else 0
