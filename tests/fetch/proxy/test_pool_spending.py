"""What the pool spends on a page: every try counts, at the price of its tier."""

from corral.domain.cost.spent import Prices, Spent, attempt_spent
from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import ItemResult
from corral.domain.net.pool_policy import Tier
from corral.domain.net.proxy import ProxyPolicy
from corral.domain.proxies.config import TierPrice
from corral.domain.runs.outcome import Failed, FailureCode, Fetched
from corral.fetch.proxy.pool_spending import PoolSpending

PRICES = {"datacentre": TierPrice(gb=1.0), "residential": TierPrice(gb=10.0, request=0.5)}


def test_the_tries_of_all_tiers_are_added_up() -> None:
    spending = PoolSpending(PRICES)
    refused = Failed(FailureCode.BLOCKED, "", "http_403", stats={"spent": {"requests": 1, "size": 1_000_000}})
    spending.add(refused, Tier.DATACENTRE)
    done = spending.add(Fetched({"requests": 2, "bytes": 3_000_000}), Tier.RESIDENTIAL)
    spent = attempt_spent(done.stats, 4.0, in_browser=True)
    assert spent == Spent(3, 4_000_000, 4000, 4000, 0, 1_031_000_000)
    assert (Prices().cost_of(spent), done.stats["proxy_cost"]) == (1.031, 1.031)


def test_a_crawled_page_carries_the_price_and_a_direct_connection_costs_nothing() -> None:
    spending = PoolSpending(PRICES)
    page = ItemResult(1, "k", ItemState.DONE, requests=1, size=500)
    assert spending.add(page, Tier.DIRECT).proxy_nanos == 0
    assert spending.add(page, Tier.RESIDENTIAL)[-1] == 500_005_000


def test_a_fixed_proxy_has_the_price_of_the_settings_and_the_pool_that_of_its_tiers() -> None:
    prices = Prices(gb=1.0, proxy_gb=2.0, pool=10.0)
    found = [prices.for_policy(None if text is None else ProxyPolicy(text)).gb for text in (None, "http://h:1", "pool")]
    assert found == [1.0, 3.0, 1.0]
    assert not Prices(pool=10.0).are_free
