"""Twenty sites at once with different limits, judged by the logs of their servers; one of them is hostile."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean

import pytest

from tests.chaos.hostile_site import HOSTILITIES, serve_hostility
from tests.chaos.level import LEVEL
from tests.cli.command import Corral
from tests.engine.crawl.site import Page, Site, serve_site
from tests.slack import SLACK

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


@contextmanager
def serve_hostile(name: str) -> Iterator[str]:
    if name != "slow 503":
        with serve_hostility(name) as origin:
            yield origin
    else:
        with serve_site(Hostile({f"/{n}": Page(takes_s=1.0) for n in range(PAGES)})) as site:
            yield site.url


def scrape(folder: Path, *, hostile: str | None) -> list[tuple[Limit, Site]]:
    folder.mkdir()
    corral = Corral(folder)
    with ExitStack() as stack:
        sites = [
            (limit, stack.enter_context(serve_site({f"/{n}": Page(takes_s=limit.takes_s) for n in range(PAGES)})))
            for limit in LIMITS
        ]
        config = folder / "config/sites"
        config.mkdir(parents=True)
        for limit, site in sites:
            (config / f"{site.url.removeprefix('http://')}.yaml").write_text(limit.config)
        given = {site.url.removeprefix("http://"): [f"{site.url}/{n}" for n in range(PAGES)] for _, site in sites}
        if hostile is not None:
            origin = stack.enter_context(serve_hostile(hostile))
            key = origin.partition("//")[2]
            given[key] = [f"{origin}/{n}" for n in range(PAGES)]
            (config / f"{key}.yaml").write_text("concurrency: 4\nbudget:\n  seconds: 20\n")
        (folder / "sites.json").write_text(json.dumps(given))
        answer = corral("site", "scrape", "--file", "sites.json", "--json", APP_BREAKER_FAILURES="5")
    assert answer.code == (0 if hostile is None else 3), answer.err
    told = {each["site"]: each for each in answer.json["sites"]}
    for _, site in sites:
        assert told[site.url.removeprefix("http://")]["done"] == PAGES
    return sites


def measure_used_share(limit: Limit, site: Site) -> float:
    """The share of the allowed rate that was used, by the log of the server."""
    asked = requests_of(site)
    return (len(asked) - 1) / (asked[-1] - asked[0]) / limit.rate


def test_no_site_is_requested_above_its_limit(tmp_path: Path) -> None:
    sites = scrape(tmp_path / "both", hostile="slow 503")
    for limit, site in sites:
        assert site.most_at_once <= limit.concurrency
        asked = requests_of(site)
        assert len(asked) == PAGES
        # The delay has a jitter of half. On a busy machine the server sees a request some time after its start, so that
        # single gaps say little: the requests together take as long as their gaps.
        assert asked[-1] - asked[0] > 0.5 * limit.delay_s * (PAGES - 1) - 0.02 * SLACK
    if not LEVEL:
        return
    for limit, site in sites:
        assert all(later - earlier > 0.5 * limit.delay_s - 0.02 for earlier, later in pairwise(requests_of(site)))
        assert measure_used_share(limit, site) >= 0.9, limit


@pytest.fixture(scope="module")
def rates_alone(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """The shares of the allowed rates that the honest sites use without a hostile one."""
    sites = scrape(tmp_path_factory.mktemp("campaign") / "alone", hostile=None)
    return [measure_used_share(limit, site) for limit, site in sites]


@pytest.mark.skipif(not LEVEL, reason="long: compares runs of half a minute each")
@pytest.mark.parametrize("name", ["slow 503", *HOSTILITIES])
def test_a_hostile_site_does_not_slow_the_others(tmp_path: Path, rates_alone: list[float], name: str) -> None:
    sites = scrape(tmp_path / "beside", hostile=name)
    beside = [measure_used_share(limit, site) for limit, site in sites]
    assert mean(beside) >= 0.95 * mean(rates_alone), (name, beside, rates_alone)
