"""Runs and crawls through the pool, judged by the site's own log."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.level import LEVEL
from tests.cli.command import Corral
from tests.fetch.browsing import needs_chromium
from tests.proxies.world import BAD, GOOD, PROXY_ADDRESS, Behaviour, ProxyWorld, proxy_world, relay


def configure(folder: Path, world: ProxyWorld, more: str = "") -> dict[str, str]:
    (folder / "proxies.yaml").write_text(f"check: {{judge: '{world.judge}', timeout_s: 2}}\n{more}")
    (folder / "list.txt").write_text(world.list_text())
    return {"APP_PROXY_CONFIG": str(folder / "proxies.yaml"), "APP_EGRESS_ALLOW": world.allow}


def turn(world: ProxyWorld, behaviours: dict[str, Behaviour]) -> None:
    """Proxies that were good when they were checked behave badly from now on."""
    for name, behave in behaviours.items():
        world.proxies[name].behave = behave
        world.proxies[name].uses = 0


def states(corral: Corral, world: ProxyWorld, settings: dict[str, str]) -> dict[str, dict[str, Any]]:
    listed = corral.here("proxy", "list", "--json", **settings).json
    by_address = {each["address"]: each for each in listed}
    return {name: by_address[world.address(name)] for name in world.proxies}


def test_with_half_the_pool_bad_every_page_arrives_and_none_is_fetched_directly(tmp_path: Path) -> None:
    # A silent proxy takes ten seconds of each page that tries it.
    left_out = {"injects"} if LEVEL else {"injects", "silent"}
    bad = {name: behave for name, behave in BAD.items() if name not in left_out}
    names = [*bad, *(f"good {number}" for number in range(len(bad)))]
    with proxy_world(dict.fromkeys(names, relay)) as world:
        corral, settings = Corral(tmp_path), configure(tmp_path, world)
        corral.here("proxy", "import", str(tmp_path / "list.txt"), **settings)
        assert corral("proxy", "check", "--json", **settings).json["alive"] == len(names)
        turn(world, bad)

        crawl = corral(
            "crawl", f"{world.site}/", "--depth", "1", "--concurrency", "4", "--proxy", "pool", "-o",
            str(tmp_path / "pages.jsonl"), "--json", "--no-robots", **settings,
        )  # fmt: skip

        assert crawl.code == 0, crawl.err
        pages = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
        assert len({page["url"] for page in pages}) == 41
        assert set(world.callers) == {PROXY_ADDRESS}, Counter(world.callers)
        found = states(corral, world, settings)
        uses = {name: world.proxies[name].uses for name in bad}
        assert max(uses.values()) <= 3, uses
        assert {name: found[name]["state"] == "cooling" for name in bad} == {name: uses[name] == 3 for name in bad}
        assert all(found[name]["state"] == "alive" for name in names if name not in bad)


def scrape(corral: Corral, world: ProxyWorld, policy: str, strategy: str = "http", **settings: str) -> dict[str, Any]:
    done = corral(
        "scrape", f"{world.site}/page/1", "--fields", "title", "--proxy", policy, "--strategy", strategy, "--json",
        "--max-attempts", "1", **settings,
    )  # fmt: skip
    return {"code": done.code, **(done.json if done.out else {})}


def test_an_empty_pool_is_an_error_and_never_a_direct_connection(tmp_path: Path) -> None:
    with proxy_world(GOOD) as world:
        corral, settings = Corral(tmp_path), configure(tmp_path, world)
        failed = scrape(corral, world, "pool", **settings)
        assert failed["code"] == 1
        assert (failed["run"]["failure_code"], failed["run"]["failure_detail"]) == ("network", "no_proxy")
        assert world.requests == []


@pytest.mark.browser
def test_a_browser_uses_the_pool_and_rotates_past_a_bad_proxy(tmp_path: Path) -> None:
    needs_chromium()
    with proxy_world({"bad": relay, "good": relay}) as world:
        corral, settings = Corral(tmp_path), configure(tmp_path, world)
        corral.here("proxy", "import", str(tmp_path / "list.txt"), **settings)
        corral("proxy", "check", **settings)
        turn(world, {"bad": BAD["407"]})
        for _ in range(2):
            done = scrape(corral, world, "pool", "browser", **settings)
            assert done["code"] == 0, done
        assert set(world.callers) == {PROXY_ADDRESS}


def test_a_tiered_policy_climbs_where_the_site_refuses_and_remembers_it(tmp_path: Path) -> None:
    with proxy_world(GOOD) as world:
        corral = Corral(tmp_path)
        settings = configure(tmp_path, world, "tiers: {datacentre: {cost_per_gb: 1000000, cost_per_request: 0.25}}\n")
        corral.here("proxy", "import", str(tmp_path / "list.txt"), **settings)
        corral("proxy", "check", **settings)
        first = scrape(corral, world, "tiered", **settings)
        assert (first["code"], set(world.callers)) == (0, {"127.0.0.1"})
        world.blocked.add("127.0.0.1")
        for _ in range(5):
            done = scrape(corral, world, "tiered", **settings)
            assert (done["code"], done["run"]["stats"]["proxy_tier"]) == (0, "datacentre")
            assert done["run"]["stats"]["proxy_cost"] > 0
        before = world.callers["127.0.0.1"]
        scrape(corral, world, "tiered", **settings)
        assert world.callers["127.0.0.1"] == before
