"""Copies the progress of campaigns to Redis, for programs that read it there: `scrape_{site}:{job_id}:{name}`."""

import asyncio
from typing import Any

import structlog

log = structlog.get_logger()

NAMES = (
    *("total", "done", "failed", "skipped", "pending", "percent", "status", "error_rate", "health"),
    *("started_at", "finished_at"),
)
_TTL_S = 86_400
_TIMEOUT_S = 2.0


def make_keys(progress: dict[str, Any]) -> dict[str, str]:
    """Return the keys and values of all sites of a campaign."""
    return {
        f"scrape_{site['site']}:{site['job_id']}:{name}": str(site[name])
        for site in progress["sites"]
        for name in NAMES
        if site.get(name) is not None
    }


class ProgressMirror:
    """Writes changed keys. If Redis does not answer, only the mirror stops, with one line in the log."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._written: dict[str, str] = {}
        self._client: Any = None
        self._has_failed = False

    async def write(self, progress: dict[str, Any]) -> None:
        keys = make_keys(progress)
        changed = {name: value for name, value in keys.items() if self._written.get(name) != value}
        if not changed:
            return
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                await self._send(changed)
        except Exception as error:  # noqa: BLE001 - the client raises many kinds, and none may stop the node
            if not self._has_failed:
                log.warning("progress_not_mirrored", reason=str(error)[:200] or type(error).__name__)
            self._has_failed, self._client = True, None
            return
        self._has_failed = False
        self._written.update(changed)
        if progress["ended_at"] is not None:
            for name in keys:
                self._written.pop(name, None)

    async def _send(self, changed: dict[str, str]) -> None:
        if self._client is None:
            from redis.asyncio import Redis  # noqa: PLC0415 - only where it is used

            self._client = Redis.from_url(self._url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S)
        async with self._client.pipeline(transaction=False) as batch:
            for name, value in changed.items():
                batch.set(name, value, ex=_TTL_S)
            await batch.execute()
