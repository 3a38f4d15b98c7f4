"""Choose the proxy of a request, weighted by its score and by its results at the site."""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from corral.domain.net.pool_policy import POOL_TIERS, Sticky, Tier
from corral.domain.proxies.pooled import PooledProxy

# A proxy that always fails at a site keeps this share of its weight, so that it is tried again eventually.
_LEAST = 0.02
_HALF_LIFE_S = 3600.0
_MAX_COUNTED = 50.0


@dataclass(frozen=True, slots=True)
class SiteRecord:
    """The results of a proxy, or of a tier, at one site. Older results count less."""

    good: float = 0.0
    bad: float = 0.0
    updated_at: float = 0.0

    def at(self, now: float) -> "SiteRecord":
        fades = 0.5 ** (max(0.0, now - self.updated_at) / _HALF_LIFE_S)
        return SiteRecord(self.good * fades, self.bad * fades, now)

    def add(self, now: float, *, is_good: bool) -> "SiteRecord":
        then = self.at(now)
        if is_good:
            return replace(then, good=min(_MAX_COUNTED, then.good + 1))
        return replace(then, bad=min(_MAX_COUNTED, then.bad + 1))

    @property
    def share(self) -> float:
        """Return the share of good results, smoothed by one good and one bad result."""
        return (self.good + 1) / (self.good + self.bad + 2)


NO_RECORD = SiteRecord()


class PoolRows(NamedTuple):
    """The rows that a node needs to choose: usable proxies, and the results of proxies and tiers at each site."""

    usable: list[PooledProxy]
    sites: dict[tuple[int, str], SiteRecord]


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A request for a proxy to use at a site."""

    site: str
    tiers: tuple[Tier, ...] = POOL_TIERS
    sticky: Sticky = Sticky.RUN
    key: str = ""  # with `sticky` job or site: the key that keeps its proxy
    exclude: tuple[int, ...] = ()  # already tried
    is_tiered: bool = False  # the cheapest tier that the site does not refuse
    after: Tier | None = None  # the tier that it has just refused


def weight_of(proxy: PooledProxy, record: SiteRecord) -> float:
    return max(proxy.score, 1.0) * max(_LEAST, (2 * record.share) ** 3)


def choose(
    candidates: Iterable[PooledProxy],
    request: LeaseRequest,
    records: Mapping[int, SiteRecord],
    now: float,
    chance: Callable[[], float],
) -> PooledProxy | None:
    """Return a usable proxy; `chance` returns a number below 1."""
    fit = [each for each in candidates if each.tier in request.tiers and each.id not in request.exclude]
    if not fit:
        return None
    if request.key:
        return _choose_sticky(fit, request.key, records, now)
    weights = [weight_of(each, records.get(each.id, NO_RECORD).at(now)) for each in fit]
    return _draw(fit, weights, chance())


def _draw(fit: Sequence[PooledProxy], weights: Sequence[float], chance: float) -> PooledProxy:
    at = chance * sum(weights)
    for proxy, weight in zip(fit, weights, strict=True):
        at -= weight
        if at < 0:
            return proxy
    return fit[-1]


def _choose_sticky(fit: Sequence[PooledProxy], key: str, records: Mapping[int, SiteRecord], now: float) -> PooledProxy:
    """Choose the same proxy for the same key on every node, without a table: the highest hash wins.

    A proxy that is blocked at the site loses its keys to the others; the others keep theirs.
    """
    welcome = [each for each in fit if records.get(each.id, NO_RECORD).at(now).share >= 0.5]
    return max(welcome or fit, key=lambda proxy: _hash(key, proxy.id))


def _hash(key: str, proxy_id: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{key} {proxy_id}".encode(), digest_size=8).digest(), "big")


# -- tiers ---------------------------------------------------------------------------------------------

_ENOUGH = 3.0  # results needed before a tier is skipped
_REFUSED_BELOW = 0.4


def choose_tier(tiers: Sequence[Tier], records: Mapping[Tier, SiteRecord], now: float, after: Tier | None) -> Tier:
    """Return the cheapest tier that the site has not refused, and that comes after `after`.

    A refusal fades: an hour later a cheaper tier has less evidence against it, and is tried again.
    """
    open_tiers = list(tiers)
    if after in open_tiers:
        open_tiers = open_tiers[open_tiers.index(after) + 1 :] or open_tiers[-1:]
    return next((tier for tier in open_tiers if not is_refused(records.get(tier, NO_RECORD), now)), open_tiers[-1])


def is_refused(record: SiteRecord, now: float) -> bool:
    """True if a site refuses most requests by this tier, as far as the evidence has not faded."""
    then = record.at(now)
    return then.good + then.bad >= _ENOUGH and then.share < _REFUSED_BELOW


def find_next_try(record: SiteRecord, now: float) -> float | None:
    """Return when a refused tier is tried again; None if it is not refused."""
    if not is_refused(record, now):
        return None
    then = record.at(now)
    return now + _HALF_LIFE_S * math.log2((then.good + then.bad) / _ENOUGH)
