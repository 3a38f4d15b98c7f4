"""Check proxies: alive, anonymity, exit address, latency, TLS, and whether they reach a target."""

import asyncio
import secrets
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from corral.domain.net.proxy import OpenProxy, ProxyPolicy, with_credentials
from corral.domain.net.url import Target, parse_target
from corral.domain.ports.proxies import LeasedProxy
from corral.domain.proxies.checking import ProxyCheck, anonymity_of
from corral.domain.proxies.config import CheckPlan
from corral.domain.proxies.echo import Echo, read_echo
from corral.domain.runs.outcome import Failed
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext, FetchRequest
from corral.fetch.egress.dns import PinnedAddress
from corral.fetch.egress.upstream_proxy import tunnel
from corral.fetch.faults import fault
from corral.fetch.proxy.exchange import BrokenAnswer, SmallAnswer, request_over
from corral.fetch.response import Response
from corral.fetch.sessions import SessionKeys
from corral.secrets.vault import SealBroken

_PREFIX = f"{fault('network:proxy').message}: "
_BROKEN = (OSError, asyncio.IncompleteReadError, BrokenAnswer, ValueError)


@dataclass(frozen=True, slots=True)
class _Page:
    """A page that the checks request through the proxies; its address is resolved and checked once."""

    target: Target
    pinned: PinnedAddress


@dataclass(frozen=True, slots=True)
class _Round:
    """The state that the checks of one run share."""

    plan: CheckPlan
    judge: _Page | None
    target: _Page | None
    own_address: str | None
    tls: ssl.SSLContext | None


class ProxyChecker:
    def __init__(self, egress: Egress, keys: SessionKeys) -> None:
        self._egress = egress
        self._keys = keys
        self._slots: dict[int, asyncio.Semaphore] = {}  # by concurrency; all chunks of the process share it

    async def check(
        self, proxies: Sequence[LeasedProxy], plan: CheckPlan, notify: Callable[[int], None]
    ) -> list[ProxyCheck] | Failed:
        """Check proxies, `plan.concurrency` at a time in this process; `notify` gets the number of finished checks.

        A failure means that nothing could be checked: the judge itself does not answer.
        """
        shared = await self._prepare(plan)
        if isinstance(shared, Failed):
            return shared
        results = await self._check_all(proxies, shared, notify)
        if shared.judge is not None and not any(result.is_alive for result in results):
            # Without a single success the judge may be at fault, and recording the failures would empty the pool.
            echo = await self._fetch_judge_directly(shared)
            if isinstance(echo, Failed):
                return fault("network:judge", echo.message)
        return results

    async def _prepare(self, plan: CheckPlan) -> _Round | Failed:
        judge, target = await self._resolve(plan.judge), await self._resolve(plan.target)
        if isinstance(judge, Failed):
            return judge
        if isinstance(target, Failed):
            return target
        uses_tls = any(page is not None and page.target.scheme == "https" for page in (judge, target))
        tls = ssl.create_default_context() if uses_tls else None
        shared = _Round(plan, judge, target, None, tls)
        echo = None if judge is None else await self._fetch_judge_directly(shared)
        return replace(shared, own_address=echo.address) if isinstance(echo, Echo) else shared

    async def _resolve(self, url: str | None) -> _Page | Failed | None:
        if url is None:
            return None
        target = parse_target(url)
        # The operator named this host, so it may be private.
        pinned = await self._egress.resolve(target, trusted_hosts=_trust(target))
        return pinned if isinstance(pinned, Failed) else _Page(target, pinned)

    async def _fetch_judge_directly(self, shared: _Round) -> Echo | Failed:
        """Request the judge without a proxy: its answer contains our own address."""
        assert shared.judge is not None
        target, nonce = shared.judge.target, secrets.token_hex(8)
        request = FetchRequest(_with_nonce(target, nonce).url, shared.plan.timeout_s)
        answer = await self._egress.fetch(request, FetchContext(trusted_hosts=_trust(target)))
        if not isinstance(answer, Response):
            return fault("network:judge", answer.message)
        echo = read_echo(answer.body, nonce)
        return fault("network:judge", f"status {answer.status}") if echo is None else echo

    async def _check_all(
        self, proxies: Sequence[LeasedProxy], shared: _Round, notify: Callable[[int], None]
    ) -> list[ProxyCheck]:
        waiting, results = iter(proxies), list[ProxyCheck]()
        slots = self._slots.setdefault(shared.plan.concurrency, asyncio.Semaphore(shared.plan.concurrency))

        async def work() -> None:
            for leased in waiting:
                async with slots:
                    results.append(await self.check_one(leased, shared))
                notify(len(results))

        async with asyncio.TaskGroup() as group:
            for _ in range(min(shared.plan.concurrency, len(proxies))):
                group.create_task(work())
        return results

    async def check_one(self, leased: LeasedProxy, shared: _Round) -> ProxyCheck:
        try:
            proxy = open_leased(leased, self._keys)
        except SealBroken:
            return ProxyCheck(leased.id, "its user and password cannot be opened")
        first = shared.judge or shared.target
        assert first is not None, "a plan has a judge or a target"
        began = time.perf_counter()
        echo = await self._fetch_through(proxy, first, shared)
        if isinstance(echo, str):
            return ProxyCheck(leased.id, echo)
        latency_ms = round((time.perf_counter() - began) * 1000)
        reaches: bool | None = None
        if shared.target is not None:
            is_same_page = shared.judge is None
            reaches = is_same_page or not isinstance(await self._fetch_through(proxy, shared.target, shared), str)
        has_tls = True if first.target.scheme == "https" else None
        if has_tls is None and shared.target is not None and shared.target.target.scheme == "https":
            has_tls = reaches
        anonymity = anonymity_of(echo.address, echo.headers, shared.own_address)
        return ProxyCheck(leased.id, None, latency_ms, anonymity, echo.address, has_tls, reaches)

    async def _fetch_through(self, proxy: OpenProxy, page: _Page, shared: _Round) -> Echo | str:
        """Return the content of the page, or the problem with the proxy."""
        is_judge, nonce = page is shared.judge, secrets.token_hex(8)
        target = _with_nonce(page.target, nonce) if is_judge else page.target
        try:
            async with asyncio.timeout(shared.plan.timeout_s):
                answer = await self._fetch(proxy, page.pinned, target, shared)
        except TimeoutError:
            return "it did not answer in time"
        except ssl.SSLError:
            return "the TLS handshake through it failed"
        except _BROKEN as error:
            return str(error) if isinstance(error, BrokenAnswer) else "the connection through it was cut"
        if isinstance(answer, str):
            return answer
        if answer.status in (301, 302, 303, 307, 308):
            return "it answered with a redirect" if is_judge else Echo(None)
        if answer.status in (407, 502, 503, 504) or (is_judge and answer.status != 200):
            return f"it answered {answer.status}"
        if not is_judge:
            return Echo(None)
        return read_echo(answer.body, nonce) or "the page was changed on its way through it"

    async def _fetch(
        self, proxy: OpenProxy, pinned: PinnedAddress, target: Target, shared: _Round
    ) -> SmallAnswer | str:
        streams = await tunnel(self._egress.resolve, proxy, pinned.ip, pinned.port, shared.plan.timeout_s)
        if isinstance(streams, Failed):
            return streams.message.removeprefix(_PREFIX)
        reader, writer = streams
        try:
            return await request_over(reader, writer, target, self._egress.user_agent, shared.tls)
        finally:
            writer.transport.abort()


def open_leased(leased: LeasedProxy, keys: SessionKeys) -> OpenProxy:
    policy = ProxyPolicy(leased.address, leased.sealed)
    text = None if policy.sealed is None else keys.open_text(policy.sealed, policy.bound)
    return with_credentials(policy, text)


def _with_nonce(target: Target, nonce: str) -> Target:
    query = f"nonce={nonce}" if target.query is None else f"{target.query}&nonce={nonce}"
    return replace(target, url=f"{target.url.partition('?')[0]}?{query}", query=query)


def _trust(target: Target) -> frozenset[str]:
    return frozenset({f"{target.host}:{target.port}"})
