"""Runs that read the sources of the proxy pool, and runs that check a chunk of it."""

from collections import Counter
from typing import Any

from corral.domain.net.pool_policy import Tier
from corral.domain.ports.execution import FrontierClient, Task
from corral.domain.ports.proxies import LeasedProxy, ProxyCheckRunner, ProxyListReader
from corral.domain.proxies.checking import ProxyCheck
from corral.domain.proxies.config import ProxyListSource
from corral.domain.proxies.payload import ProxyCheckPayload, ProxyRefreshPayload
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.run import PROXY_CHECK, PROXY_REFRESH
from corral.engine.worker.kinds.spec import KindSpec

_NOTIFY_EVERY = 25
_MAX_NAMED = 5


class ProxyRefreshKind:
    """Reads every source, adds its proxies to the pool, and starts the runs that check them all."""

    def __init__(self, reader: ProxyListReader | None) -> None:
        self._reader = reader

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        if self._reader is None:
            return Failed(FailureCode.POLICY, "this process cannot read lists of proxies", "kind")
        problems: dict[str, str] = {}
        counts: Counter[str] = Counter()
        for document in await frontier.call("proxy_sources", {}):
            source = ProxyListSource.of(document)
            text, problem = await self._reader.read_list(source)
            if text is None:
                problems[source.name] = problem
                continue
            report = await frontier.call("import_proxies", {"text": text, "source": document})
            counts.update({name: report[name] for name in ("imported", "updated", "unchanged", "malformed_count")})
            if report["malformed_count"]:
                problems[source.name] = _describe_malformed(report)
        chunks = await frontier.call("start_checks", {"refresh_id": task.run_id})
        stats: dict[str, Any] = {**counts, "chunks": chunks}
        if not chunks:
            details = "; ".join(f"{name}: {why}" for name, why in problems.items())
            return Failed(
                FailureCode.POLICY, f"there are no proxies to check{details and f' ({details})'}", "no_proxies"
            )
        return Fetched(stats, problems={"sources": problems} if problems else None)


class ProxyCheckKind:
    def __init__(self, checker: ProxyCheckRunner | None) -> None:
        self._checker = checker

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        if self._checker is None:
            return Failed(FailureCode.POLICY, "this process cannot check proxies", "kind")
        payload = task.payload.read(ProxyCheckPayload)
        if payload.plan.problem is not None:
            return Failed(FailureCode.POLICY, payload.plan.problem, "proxy_check")
        rows = await frontier.call("proxies_to_check", {"ids": list(payload.proxies)})
        proxies = [LeasedProxy(row["id"], Tier(row["tier"]), row["address"], row["sealed"]) for row in rows]

        def notify(done: int) -> None:
            if done % _NOTIFY_EVERY == 0:
                frontier.notify({"total": len(proxies), "done": done})

        checks = await self._checker.check(proxies, payload.plan, notify)
        if isinstance(checks, Failed):
            return checks
        await frontier.call("record_checks", {"checks": checks})
        return Fetched(_count(checks))


def _describe_malformed(report: dict[str, Any]) -> str:
    """Name the first malformed entries, without their text."""
    where = [f"line {entry['line']}" if entry["line"] else f"entry {entry['index']}" for entry in report["malformed"]]
    named = ", ".join(where[:_MAX_NAMED]) + (", …" if report["malformed_count"] > _MAX_NAMED else "")
    return f"malformed entries: {report['malformed_count']} ({named})"


def _count(checks: list[ProxyCheck]) -> dict[str, Any]:
    alive = sum(1 for check in checks if check.is_alive)
    reasons = Counter(check.problem for check in checks if check.problem is not None)
    return {
        "checked": len(checks),
        "alive": alive,
        "dead": len(checks) - alive,
        "reasons": dict(reasons.most_common(20)),
    }


PROXY_REFRESH_KIND = KindSpec(PROXY_REFRESH, ProxyRefreshPayload, lambda parts: ProxyRefreshKind(parts.proxy_reader))
PROXY_CHECK_KIND = KindSpec(PROXY_CHECK, ProxyCheckPayload, lambda parts: ProxyCheckKind(parts.proxy_checker))
