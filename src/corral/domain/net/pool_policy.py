"""The policies that let Corral choose the proxy: `pool` and `tiered`.

pool                      any proxy of the pool
pool:residential          one of this tier
tiered                    direct, then datacentre, then residential, as far as the site requires it
tiered:direct,residential the same with these tiers
pool;sticky=job           the same proxy for all runs of the job, as long as it works
"""

from dataclasses import dataclass
from enum import StrEnum

from corral.domain.errors import BadInput


class Tier(StrEnum):
    """The kind of a proxy, by price. `direct` is a connection without a proxy, in tiered policies only."""

    DIRECT = "direct"
    DATACENTRE = "datacentre"
    RESIDENTIAL = "residential"


POOL_TIERS = (Tier.DATACENTRE, Tier.RESIDENTIAL)


class PoolMode(StrEnum):
    POOL = "pool"
    TIERED = "tiered"


class Sticky(StrEnum):
    """The scope within which a proxy stays the same."""

    RUN = "run"  # a run, or one page of a crawl
    JOB = "job"
    SITE = "site"


@dataclass(frozen=True, slots=True)
class PoolPolicy:
    mode: PoolMode = PoolMode.POOL
    tiers: tuple[Tier, ...] = POOL_TIERS  # cheapest first
    sticky: Sticky = Sticky.RUN

    @property
    def text(self) -> str:
        usual = tuple(Tier) if self.mode is PoolMode.TIERED else POOL_TIERS
        tiers = "" if self.tiers == usual else ":" + ",".join(self.tiers)
        return f"{self.mode}{tiers}" + ("" if self.sticky is Sticky.RUN else f";sticky={self.sticky}")


def is_pool_text(text: str) -> bool:
    return text.partition(";")[0].partition(":")[0] in set(PoolMode)


def parse_pool_policy(text: str, field: str = "proxy_policy") -> PoolPolicy:
    """Parse a text for which `is_pool_text` holds."""
    first, _, options = text.partition(";")
    mode, _, names = first.partition(":")
    tiers = _parse_tiers(names, PoolMode(mode), field)
    sticky = Sticky.RUN
    for option in filter(None, options.split(";")):
        name, _, value = option.partition("=")
        if name != "sticky" or value not in set(Sticky):
            scopes = ", ".join(Sticky)
            raise BadInput(f"unknown option of the policy {mode}", field=field, hint=f"options: sticky= {scopes}")
        sticky = Sticky(value)
    return PoolPolicy(PoolMode(mode), tiers, sticky)


def _parse_tiers(names: str, mode: PoolMode, field: str) -> tuple[Tier, ...]:
    allowed = tuple(Tier) if mode is PoolMode.TIERED else POOL_TIERS
    if not names:
        return allowed
    requested = [name.strip() for name in names.split(",")]
    if not set(requested) <= set(allowed):
        raise BadInput(f"unknown tier in the policy {mode}", field=field, hint=f"tiers: {', '.join(allowed)}")
    return tuple(tier for tier in allowed if tier in requested)
