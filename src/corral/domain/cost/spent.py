"""The resources that a run has used, and their cost."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from corral.domain.cost.budget import Budget
from corral.domain.errors import BadInput
from corral.domain.net.proxy import ProxyPolicy

SPENT = "spent"  # the key of the statistics of an outcome
_GB = 1e9
_NANOS = 1e9
_HOUR_S = 3600.0


class Spent(NamedTuple):
    requests: int = 0
    size: int = 0  # bytes received
    took_ms: int = 0  # the sum over all pages, from request to result
    browser_ms: int = 0  # part of `took_ms` spent in a browser
    cpu_ms: int = 0  # processor time of reading pages
    proxy_nanos: int = 0  # price of proxies of the pool, in billionths, by the prices when they were used

    @staticmethod
    def of(numbers: Mapping[str, int]) -> "Spent":
        return Spent(*(int(numbers.get(name) or 0) for name in Spent._fields))

    def plus(self, other: "Spent") -> "Spent":
        return Spent(*(left + right for left, right in zip(self, other, strict=True)))


NOTHING = Spent()


def attempt_spent(stats: Mapping[str, Any], took_s: float, *, in_browser: bool) -> Spent:
    """Return what one attempt used, by its statistics. Those of a crawl are sums over its pages."""
    measured = stats.get(SPENT) or {}
    took_ms = round(took_s * 1000)
    return Spent(
        int(measured.get("requests") or stats.get("requests") or 0),
        int(measured.get("size") or stats.get("bytes") or 0),
        int(measured.get("took_ms") or took_ms),
        int(measured.get("browser_ms") or (took_ms if in_browser and "browser_ms" not in measured else 0)),
        int(measured.get("cpu_ms") or 0),
        int(measured.get("proxy_nanos") or 0),
    )


def run_spent(attempts: Iterable[Mapping[str, Any]]) -> Spent:
    """Return the sum over the attempts of a run."""
    total = Spent()
    for attempt in attempts:
        total = total.plus(Spent.of(attempt.get(SPENT) or {}))
    return total


@dataclass(frozen=True, slots=True)
class Prices:
    """Money per unit. Those of an installation are in its settings; 0 is free."""

    request: float = 0.0
    gb: float = 0.0
    browser_hour: float = 0.0
    cpu_hour: float = 0.0
    proxy_gb: float = 0.0  # in addition, for bytes received through a fixed proxy
    pool: float = 0.0  # highest price of a tier of the pool; charged in `proxy_nanos` when a proxy is used

    @property
    def are_free(self) -> bool:
        return not any(asdict(self).values())

    def with_proxy(self) -> "Prices":
        """Return the prices of a run that fetches through a fixed proxy."""
        return Prices(self.request, self.gb + self.proxy_gb, self.browser_hour, self.cpu_hour)

    def for_policy(self, proxy: ProxyPolicy | None) -> "Prices":
        """Return the prices of a run with this policy. A proxy of the pool has the price of its tier instead."""
        is_fixed = proxy is not None and not proxy.is_direct and proxy.pool is None
        return self.with_proxy() if is_fixed else self

    def cost_of(self, spent: Spent) -> float:
        return (
            self.request * spent.requests
            + self.gb * spent.size / _GB
            + self.browser_hour * spent.browser_ms / 1000 / _HOUR_S
            + self.cpu_hour * spent.cpu_ms / 1000 / _HOUR_S
            + spent.proxy_nanos / _NANOS
        )

    def document(self) -> dict[str, float]:
        return {name: price for name, price in asdict(self).items() if price}


FREE = Prices()
PRICES = tuple(each.name for each in fields(Prices))


def find_exceeded(budget: Budget, prices: Prices, spent: Spent) -> str | None:
    """Return the name of the first exhausted limit, or None. The worker enforces the time limit itself."""
    used = {
        "requests": spent.requests,
        "bytes": spent.size,
        "browser_seconds": spent.browser_ms / 1000,
        "cost": prices.cost_of(spent),
    }
    limits = budget.document()
    return next((name for name, number in used.items() if name in limits and number >= limits[name]), None)


def check_cost_limit(budget: Budget, prices: Prices) -> None:
    """Raise BadInput if the budget limits a cost that would always be 0."""
    if budget.cost is not None and prices.are_free:
        raise BadInput(
            "the budget limits the cost, and every price is 0",
            field="budget.cost",
            hint="set the price of what is scarce: APP_PRICE_GB, APP_PRICE_BROWSER_HOUR, APP_PRICE_PROXY_GB, …",
        )


def describe_cost(spent: Spent, prices: Prices, records: int | None = None) -> dict[str, Any]:
    """Describe the cost of a run, a job or a site as a JSON document."""
    cost = prices.cost_of(spent)
    document: dict[str, Any] = {
        "requests": spent.requests,
        "bytes": spent.size,
        "seconds": round(spent.took_ms / 1000, 3),
        "browser_seconds": round(spent.browser_ms / 1000, 3),
        "cpu_seconds": round(spent.cpu_ms / 1000, 3),
        "proxy_cost": round(spent.proxy_nanos / _NANOS, 9),
        "cost": round(cost, 9),
    }
    if records is not None:
        document["records"] = records
        numbers = {name: value for name, value in document.items() if name != "records"}
        document["per_record"] = (
            {name: round(value / records, 9) for name, value in numbers.items()} if records else None
        )
    return document
