"""Open the credentials of a job's proxy inside a worker, for one run; they are never stored in clear text."""

from dataclasses import replace
from typing import Any

from corral.domain.net.pool_policy import PoolPolicy
from corral.domain.net.proxy import OpenProxy, with_credentials
from corral.domain.ports.execution import Executor, Task
from corral.domain.runs.outcome import Deferred, Failed, Outcome
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.secret import without
from corral.fetch.faults import fault
from corral.fetch.proxy.pool_session import PoolAccess
from corral.fetch.sessions import SessionKeys
from corral.secrets.vault import SealBroken


class WithProxy:
    """Opens the proxy of a run before another executor runs it."""

    def __init__(self, inner: Executor, keys: SessionKeys, pool: PoolAccess | None = None) -> None:
        self._inner = inner
        self._keys = keys
        self._pool = pool

    async def execute(self, task: Task) -> Outcome:
        payload = task.payload.read(CommonPayload)
        if payload.proxy is not None and payload.proxy.pool is not None:
            return await self._execute_with_pool(task, payload, payload.proxy.pool)
        opened = open_proxy(task, self._keys)
        if isinstance(opened, Failed):
            return opened
        outcome = await self._inner.execute(opened)
        return outcome if opened.proxy is None else _redact(outcome, opened.proxy)

    async def _execute_with_pool(self, task: Task, payload: CommonPayload, policy: PoolPolicy) -> Outcome:
        if self._pool is None:
            return fault("network:no_proxy")

        async def attempt(proxy: OpenProxy | None, limit_s: float) -> Outcome:
            return await self._inner.execute(replace(task, proxy=proxy, timeout_s=limit_s))

        session = self._pool.open(policy, payload.url, task)
        return await session.fetch(attempt, task.timeout_s, verifies_tls=payload.verify_tls)


def open_proxy(task: Task, keys: SessionKeys) -> Task | Failed:
    """Return the task with its proxy opened, if it has one."""
    policy = task.payload.read(CommonPayload).proxy
    if policy is None:
        return task
    try:
        text = None if policy.sealed is None else keys.open_text(policy.sealed, policy.bound)
    except SealBroken as problem:
        return fault("policy:proxy_sealed", str(problem))
    return replace(task, proxy=with_credentials(policy, text))


def _redact(outcome: Outcome, proxy: OpenProxy) -> Outcome:
    """Record the proxy in the statistics, and remove its credentials from the outcome."""
    if isinstance(outcome, Deferred):
        return outcome
    fields: dict[str, Any] = {"stats": {**outcome.stats, "proxy": proxy.redacted}}
    if isinstance(outcome, Failed):
        fields |= {"message": outcome.message, "traceback": outcome.traceback}
    return replace(outcome, **without(fields, proxy.secrets()))
