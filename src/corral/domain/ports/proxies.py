"""The ports of the proxy pool, for the engine and the workers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from corral.domain.net.pool_policy import Tier
from corral.domain.proxies.checking import ProxyCheck
from corral.domain.proxies.choice import LeaseRequest, PoolRows, SiteRecord
from corral.domain.proxies.config import CheckPlan, ProxyListSource
from corral.domain.proxies.imports import NewProxy, ProxyImport
from corral.domain.proxies.pooled import PooledProxy
from corral.domain.proxies.refresh import RefreshProgress
from corral.domain.proxies.use import ProxyUse
from corral.domain.runs.event import EventDraft
from corral.domain.runs.outcome import Failed
from corral.domain.runs.run import NewRun

MakeCheck = Callable[[Sequence[int]], tuple[NewRun, Sequence[EventDraft]]]


class ProxyStore(Protocol):
    async def add(self, new: Sequence[NewProxy]) -> ProxyImport: ...
    async def select(self, ids: Sequence[int]) -> list[PooledProxy]: ...
    async def ids(self) -> list[int]: ...
    async def count(self) -> dict[str, int]: ...
    async def load(self) -> PoolRows: ...
    async def tiers(self, site: str | None, limit: int) -> dict[str, dict[Tier, SiteRecord]]: ...
    async def record_checks(self, checks: Sequence[ProxyCheck]) -> int: ...
    async def record_uses(self, uses: Sequence[ProxyUse]) -> None: ...
    async def list_under_other_keys(self, kid: str, after: int, limit: int) -> list[PooledProxy]: ...
    async def reseal(self, proxy_id: int, old: str, sealed: str) -> bool: ...
    async def start_refresh(
        self, run: NewRun, drafts: Sequence[EventDraft], not_before_s: float | None = None
    ) -> tuple[str, bool]: ...
    async def add_chunks(self, refresh_id: str, chunks: Sequence[tuple[NewRun, Sequence[EventDraft]]]) -> bool: ...
    async def progress(self, refresh_id: str) -> RefreshProgress: ...
    async def newest_refreshes(self, limit: int) -> list[RefreshProgress]: ...
    async def note_refresh_ends(self) -> list[RefreshProgress]: ...
    async def start_rechecks(self, limit: int, make_run: MakeCheck) -> list[NewRun]: ...


@dataclass(frozen=True, slots=True)
class LeasedProxy:
    """A proxy that a request may use now. `address` is empty for the tier `direct`."""

    id: int
    tier: Tier
    address: str = ""
    sealed: str | None = None

    @property
    def is_direct(self) -> bool:
        return self.tier is Tier.DIRECT


class ProxySource(Protocol):
    """The pool, inside a worker."""

    async def lease(self, request: LeaseRequest) -> LeasedProxy | None:
        """Return a proxy, or None."""
        ...

    def report(self, use: ProxyUse) -> None: ...


class ProxyCheckRunner(Protocol):
    """Checks proxies, inside a worker."""

    async def check(
        self, proxies: Sequence[LeasedProxy], plan: CheckPlan, notify: Callable[[int], None]
    ) -> list[ProxyCheck] | Failed: ...


class ProxyListReader(Protocol):
    """Reads the list of a source, inside a worker. Returns its text, or None and the reason."""

    async def read_list(self, source: ProxyListSource) -> tuple[str | None, str]: ...


class _NoPool:
    """The pool of a process without a node: every policy of the pool fails there."""

    async def lease(self, request: LeaseRequest) -> LeasedProxy | None:  # noqa: ARG002
        return None

    def report(self, use: ProxyUse) -> None:
        pass


NO_POOL: ProxySource = _NoPool()
