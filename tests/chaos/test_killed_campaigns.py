"""A killed campaign goes on: each site ends once, and a site that waits for another still waits."""

import signal
import time
from pathlib import Path
from typing import Any

from tests.chaos.level import by_level, make_random
from tests.chaos.report import report
from tests.engine.crawl.site import Page, Site, serve_site
from tests.stack import Stack, corral_up
from tests.waiting import block_until

PAGES = by_level(12, 200)
KILLS = by_level(2, 20)
SETTINGS = {"APP_WORKERS": "1", "APP_SHUTDOWN_GRACE_SECONDS": "0.5"}


def _submit(stack: Stack, sites: dict[str, list[str]]) -> str:
    body = {"sites": sites, "depends_on": {"second": ["first"]}}
    return str(stack.client.post("/sites/campaigns", json=body).json()["campaign_id"])


def _wait_for_requests(stack: Stack, campaign: str, sites: list[Site]) -> None:
    before = sum(len(site.asked_at) for site in sites)
    path = f"/sites/campaigns/{campaign}"
    block_until(
        lambda: sum(len(site.asked_at) for site in sites) > before or stack.client.get(path).json()["ended_at"], 60
    )


def _wait_for_end(stack: Stack, campaign: str) -> tuple[dict[str, Any], list[list[str]]]:
    """Return the campaign, and the URLs of the records of each site."""
    path = f"/sites/campaigns/{campaign}"
    ended = block_until(lambda: (now := stack.client.get(path).json())["ended_at"] and now, by_level(60, 300))
    answers = [stack.client.get(f"/scraping/tasks/{site['job_id']}/results").json() for site in ended["sites"]]
    return ended, [sorted(record["url"] for record in answer["results"]) for answer in answers]


def test_a_killed_campaign_loses_no_page_and_keeps_its_order(tmp_path: Path) -> None:
    dice = make_random()
    pages = {f"/{n}": Page(takes_s=0.05) for n in range(PAGES)}
    with serve_site(dict(pages)) as first, serve_site(dict(pages)) as second:
        urls = {name: [site.url + path for path in pages] for name, site in (("first", first), ("second", second))}
        campaign = ""
        for _ in range(KILLS):
            with corral_up(tmp_path, first.url, **SETTINGS) as stack:
                campaign = campaign or _submit(stack, urls)
                _wait_for_requests(stack, campaign, [first, second])
                time.sleep(dice.random() / 4)
                stack.process.send_signal(signal.SIGKILL)
                stack.process.wait()
        with corral_up(tmp_path, first.url, **SETTINGS) as stack:
            ended, found = _wait_for_end(stack, campaign)
    assert (ended["status"], ended["done"], ended["by_status"]) == ("completed", 2 * PAGES, {"completed": 2})
    assert found == [sorted(each) for each in urls.values()], "each page has one record"
    asked = [[moment for path, moment in site.asked_at if path != "/robots.txt"] for site in (first, second)]
    assert min(asked[1]) > max(asked[0]), "the dependent site starts when the other has ended"
    again = sum(map(len, asked)) - 2 * PAGES
    report(f"campaign of {2 * PAGES} pages, killed {KILLS} times: {again} pages requested again, none lost")
