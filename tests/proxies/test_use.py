"""Policies of the pool in use, judged by the site's own log."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.cli.command import Corral
from tests.proxies.world import GOOD, ProxyWorld, proxy_world


def configure(folder: Path, world: ProxyWorld, more: str = "") -> dict[str, str]:
    (folder / "proxies.yaml").write_text(f"check: {{judge: '{world.judge}', timeout_s: 2}}\n{more}")
    (folder / "list.txt").write_text(world.list_text())
    return {"APP_PROXY_CONFIG": str(folder / "proxies.yaml"), "APP_EGRESS_ALLOW": world.allow}


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
            told = corral.here("cost", done["run"]["id"], "--json", **settings).json
            # The direct try that the site refused is free; robots.txt and the page came through a proxy.
            assert told["cost"] == done["run"]["stats"]["proxy_cost"] > 0.25
        [told] = corral.here("proxy", "tiers", f"{world.site}/", "--json", **settings).json
        refused, used, _ = told["tiers"]
        assert (told["site"], told["begins_with"]) == (world.site.removeprefix("http://"), "datacentre")
        assert (refused["is_refused"], used["is_refused"]) == (True, False)
        assert refused["tried_again_at"] > datetime.now(UTC).isoformat()
        assert "datacentre" in corral.here("proxy", "tiers", **settings).out
        assert corral.here("proxy", "tiers", "other.test", "--json", **settings).json == []
        before = world.callers["127.0.0.1"]
        scrape(corral, world, "tiered", **settings)
        assert world.callers["127.0.0.1"] == before
