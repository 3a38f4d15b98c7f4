"""Budgets end the runs of sites, and `corral cost` shows what they used."""

import contextlib
import sqlite3

from tests.cli.command import Corral
from tests.cli.sites import pages, urls, write_config
from tests.engine.crawl.site import Page, serve_site
from tests.waiting import block_until


def wait_until_recorded(corral: Corral, url: str) -> None:
    def is_recorded() -> bool:
        with contextlib.closing(sqlite3.connect(corral.data / "corral.db")) as database:
            rows = database.execute("SELECT 1 FROM items WHERE url = ? AND state = 'done'", (url,))
            return rows.fetchone() is not None

    block_until(is_recorded)


def test_a_budget_ends_a_site_as_partial_and_its_cost_is_shown(corral: Corral) -> None:
    with serve_site(pages(8)) as shop, serve_site({"/0": Page(raw="<p>" + "<b>x" * 300_000), "/1": Page()}) as heavy:
        write_config(corral, shop, "concurrency: 1\nbudget:\n  requests: 4\n")
        # A page in progress counts as one request: until the first one is recorded, robots.txt is not counted.
        shop.pages["/1"].on_ask = lambda: wait_until_recorded(corral, f"{shop.url}/0")
        write_config(corral, heavy, "memory_mib: 16\n")
        answer = corral("site", "scrape", *urls(shop, 8), *urls(heavy, 2), "--json", APP_PRICE_REQUEST="0.5")
    assert answer.code == 3, answer.err
    told = {each["site"]: each for each in answer.json["sites"]}
    limited = told[shop.url.removeprefix("http://")]
    assert limited["status"] == "partial"
    assert len(shop.asked_at) == 4, "robots.txt and three pages"
    assert (limited["done"], limited["skipped"]) == (3, 5)
    stats = corral.here("run", "show", limited["job_id"], "--json").json["stats"]
    assert stats["left_out"] == {"budget.requests": 5}
    assert stats["budget"] == "budget.requests"

    cost = corral.here("cost", limited["job_id"], "--json", APP_PRICE_REQUEST="0.5").json
    assert (cost["requests"], cost["records"], cost["cost"]) == (4, 3, 2.0)
    assert cost["bytes"] > 0
    assert cost["seconds"] > 0
    shown = corral.here("cost", "127.0.0.1", APP_PRICE_REQUEST="0.5")
    assert "per record" in shown.out
    assert corral.here("cost", "unknown.test").code == 1

    small = told[heavy.url.removeprefix("http://")]
    assert (small["done"], small["failed"]) == (1, 1), "the page that takes too much memory"
    listed = corral.here("crawl", "pages", small["job_id"], "--state", "failed", "--json").json
    assert [each["reason"] for each in listed] == ["limit:parse"]


def test_a_budget_in_money_needs_a_price(corral: Corral) -> None:
    folder = corral.folder / "config/sites"
    folder.mkdir(parents=True)
    (folder / "a.test.yaml").write_text("budget:\n  cost: 1\n")
    refused = corral.here("site", "scrape", "http://a.test/", "--no-wait")
    assert refused.code == 2
    assert "every price is 0" in refused.err
