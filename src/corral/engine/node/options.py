"""Limits of a node, and the configuration of its workers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from corral.domain.hosts.limiter import HostRules
from corral.engine.hosts.site_paces import SitePaces
from corral.engine.node.assign import WorkerLimits
from corral.engine.refresh.calls import ProxyOptions


@dataclass(frozen=True, slots=True)
class NodeOptions:
    workers: int
    limits: WorkerLimits  # per worker
    grace_s: float
    timeouts_s: dict[str, float]  # per strategy, for runs without their own
    config: dict[str, Any] = field(repr=False)  # configuration sent to the workers
    crawls: int = 5  # maximum concurrent crawls
    scripts: int = 5  # maximum concurrent scripts
    max_memory_mib: int = 0  # per worker process; 0 means no limit
    proxies: ProxyOptions = field(default_factory=ProxyOptions)
    host_rules: HostRules = field(default_factory=HostRules)
    site_paces: SitePaces = field(default_factory=SitePaces)
    # Returns all vault keys if the workers lack one of the given ones, else None.
    keys_for: Callable[[Iterable[str]], list[str] | None] = lambda _: None
