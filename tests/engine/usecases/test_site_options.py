"""The limits of a site as options of its crawl."""

from typing import Any

import pytest

from corral.domain.cost.spent import Prices
from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.errors import BadInput
from corral.domain.site_config.book import SiteConfig, SourcedValue
from corral.engine.usecases.campaigns import make_options


def a_config(**values: Any) -> SiteConfig:
    return SiteConfig(
        "a.test", {name.replace("__", "."): SourcedValue(value, "file") for name, value in values.items()}
    )


def test_each_limit_of_a_site_is_an_option_of_its_crawl() -> None:
    config = a_config(concurrency=3, strategy="browser", browser_pages=7, memory_mib=64, budget__requests=9)
    plan = CrawlPlan.of({"start_urls": ["http://a.test/"], **make_options(config)})
    assert (plan.concurrency, plan.strategy, plan.browser_pages, plan.memory_mib) == (3, "browser", 7, 64)
    assert plan.budget == {"requests": 9}


def test_a_limit_of_the_cost_needs_a_price() -> None:
    config = a_config(budget__cost=1.0)
    with pytest.raises(BadInput, match="every price is 0"):
        make_options(config)
    assert make_options(config, Prices(gb=1.0))["budget"] == {"cost": 1.0}
