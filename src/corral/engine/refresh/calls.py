"""The node's side of the runs that refresh and check the pool."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from corral.domain.errors import CorralError
from corral.domain.ports.stores import EngineStore
from corral.domain.proxies.checking import ProxyCheck
from corral.domain.proxies.config import ProxyConfig, ProxyListSource
from corral.domain.proxies.listing import parse_list
from corral.domain.proxies.refresh import split
from corral.domain.secret import Secret
from corral.engine.refresh.usecases import check_config, draft_check, store_list


def _cannot_seal(_: Secret[str], __: str) -> str:
    raise CorralError("this process has no vault")


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """The installation's options for the pool of a node."""

    read_config: Callable[[], ProxyConfig] = ProxyConfig
    seal: Callable[[Secret[str], str], str] = _cannot_seal


class ProxyCalls:
    def __init__(self, store: EngineStore, options: ProxyOptions, wake: Callable[[], None]) -> None:
        self._store = store
        self._options = options
        self._wake = wake

    def by_name(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        return {
            "proxy_sources": self._list_sources,
            "import_proxies": self._import,
            "start_checks": self._start_checks,
            "proxies_to_check": self._select,
            "record_checks": self._record,
        }

    async def _list_sources(self) -> list[dict[str, Any]]:
        return [source.document() for source in self._options.read_config().sources]

    async def _import(self, text: str, source: dict[str, Any]) -> dict[str, Any]:
        """Import proxies. Credentials arrive over the worker's socket and are sealed here."""
        origin = ProxyListSource.of(source)
        proxy_list = parse_list(text, scheme=origin.scheme, tier=origin.tier)
        return (await store_list(self._store, self._options.seal, proxy_list, origin.name)).document()

    async def _start_checks(self, refresh_id: str) -> int:
        config = self._options.read_config()
        check_config(config)
        chunks = split(await self._store.proxies.ids())
        if chunks:
            drafts = [draft_check(chunk, config.check, refresh_id) for chunk in chunks]
            await self._store.proxies.add_chunks(refresh_id, drafts)
            self._wake()
        return len(chunks)

    async def _select(self, ids: list[int]) -> list[dict[str, Any]]:
        proxies = await self._store.proxies.select(ids)
        return [
            {"id": proxy.id, "tier": proxy.tier.value, "address": proxy.address, "sealed": proxy.sealed}
            for proxy in proxies
        ]

    async def _record(self, checks: list[Any]) -> int:
        return await self._store.proxies.record_checks(msgspec.convert(checks, list[ProxyCheck]))


def kids_in(value: Any) -> Iterable[str]:
    """Return the ids of the vault keys that a worker needs for the proxies in an answer."""
    rows = value if isinstance(value, list) else []
    return {row["sealed"].partition(".")[0] for row in rows if isinstance(row, dict) and row.get("sealed")}
