"""Twenty sites at once with different limits, judged by the logs of their servers; one of them is hostile."""

import json
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tests.chaos.level import LEVEL
from tests.cli.command import Corral
from tests.engine.crawl.site import Page, Site, served

PAGES = 60 if LEVEL else 6


@dataclass(frozen=True)
class Limit:
    concurrency: int
    delay_s: float
    takes_s: float

    @property
    def config(self) -> str:
        return f"concurrency: {self.concurrency}\ndelay_s: {self.delay_s}\n"

    @property
    def rate(self) -> float:
        """Pages per second that the limit allows."""
        by_delay = 1 / self.delay_s if self.delay_s else float("inf")
        return min(by_delay, self.concurrency / self.takes_s)


# Nineteen honest sites: some are bound by their concurrency, some by their delay.
LIMITS = [
    *(Limit(1 + number % 3, 0.0, 0.3 + 0.05 * (number % 4)) for number in range(10)),
    *(Limit(1, 0.3 + 0.1 * (number % 3), 0.02) for number in range(9)),
]


class Hostile(Site):
    """Answers late with 503, or not at all."""

    def answer(self, path: str) -> tuple[int, dict[str, str], str]:
        return 503, {}, "<p>no"


def requests_of(site: Site) -> list[float]:
    return sorted(moment for path, moment in site.asked_at if path != "/robots.txt")


def scrape(folder: Path, *, with_hostile: bool) -> list[tuple[Limit, Site]]:
    folder.mkdir()
    corral = Corral(folder)
    with ExitStack() as stack:
        sites = [
            (limit, stack.enter_context(served({f"/{n}": Page(takes_s=limit.takes_s) for n in range(PAGES)})))
            for limit in LIMITS
        ]
        config = folder / "config/sites"
        config.mkdir(parents=True)
        for limit, site in sites:
            (config / f"{site.url.removeprefix('http://')}.yaml").write_text(limit.config)
        given = {site.url.removeprefix("http://"): [f"{site.url}/{n}" for n in range(PAGES)] for _, site in sites}
        if with_hostile:
            bad = stack.enter_context(served(Hostile({f"/{n}": Page(takes_s=1.0) for n in range(PAGES)})))
            given[bad.url.removeprefix("http://")] = [f"{bad.url}/{n}" for n in range(PAGES)]
            text = "concurrency: 4\nbudget:\n  seconds: 20\n"
            (config / f"{bad.url.removeprefix('http://')}.yaml").write_text(text)
        (folder / "sites.json").write_text(json.dumps(given))
        answer = corral("site", "scrape", "--file", "sites.json", "--json", APP_BREAKER_FAILURES="5")
    assert answer.code == (3 if with_hostile else 0), answer.err
    told = {each["site"]: each for each in answer.json["sites"]}
    for _, site in sites:
        assert told[site.url.removeprefix("http://")]["done"] == PAGES
    return sites


def used_share(limit: Limit, site: Site) -> float:
    """The share of the allowed rate that was used, by the log of the server."""
    asked = requests_of(site)
    return (len(asked) - 1) / (asked[-1] - asked[0]) / limit.rate


def test_no_site_is_requested_above_its_limit(tmp_path: Path) -> None:
    sites = scrape(tmp_path / "both", with_hostile=True)
    for limit, site in sites:
        assert site.most_at_once <= limit.concurrency
        asked = requests_of(site)
        assert len(asked) == PAGES
        # The delay has a jitter of half; the clock of the server sees a request a little after its start.
        assert all(later - earlier > 0.5 * limit.delay_s - 0.02 for earlier, later in pairwise(asked))
    if not LEVEL:
        return
    for limit, site in sites:
        assert used_share(limit, site) >= 0.9, limit


@pytest.mark.skipif(not LEVEL, reason="long: compares two runs of a minute each")
def test_a_hostile_site_does_not_slow_the_others(tmp_path: Path) -> None:
    alone = scrape(tmp_path / "alone", with_hostile=False)
    beside = scrape(tmp_path / "beside", with_hostile=True)
    spans = [[asked[-1] - asked[0] for _, site in each if (asked := requests_of(site))] for each in (alone, beside)]
    slower = [after / before - 1 for before, after in zip(*spans, strict=True)]
    assert sum(slower) / len(slower) <= 0.05, slower
