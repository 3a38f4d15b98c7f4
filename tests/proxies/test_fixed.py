"""A fixed proxy that fails: for a while, or for good. Its faults are no attempts, and nothing goes around it."""

import time
from pathlib import Path

import pytest

from tests.cli.command import Answer, Corral
from tests.proxies.world import PROXY_ADDRESS, ProxyWorld, cut, proxy_world, relay, take_turns

QUICK = {"APP_EGRESS_ALLOW": "127.0.0.0/8:*", "APP_RETRY_BASE_SECONDS": "0.2"}


def crawl(folder: Path, world: ProxyWorld, policy: str | None = None, **settings: str) -> Answer:
    return Corral(folder)(
        "crawl", f"{world.site}/", "--depth", "1", "--concurrency", "2", "--proxy", policy or world.address("proxy"),
        "-o", str(folder / "pages.jsonl"), "--json", "--no-robots", **QUICK, **settings,
    )  # fmt: skip


@pytest.mark.parametrize("faults, code", [(2, 0), (20, 1)])
def test_faults_of_a_fixed_proxy_are_no_attempts_of_a_run(tmp_path: Path, faults: int, code: int) -> None:
    with proxy_world({"proxy": take_turns((faults, cut), (1, relay))}) as world:
        began = time.monotonic()
        done = Corral(tmp_path)(
            "scrape", f"{world.site}/page/1", "--fields", "title", "--strategy", "http", "--json",
            "--proxy", world.address("proxy"), "--max-attempts", "3", **QUICK,
        )  # fmt: skip
        run = done.json["run"]
        assert (done.code, run["attempt"]) == (code, 1), done.err
        assert time.monotonic() - began > 0.6, "a pause after each fault"
        if code:
            assert (run["failure_code"], run["failure_detail"]) == ("network", "proxy")
            assert "the proxy of the job could not be used" in run["error_message"]
            assert [entry["detail"] for entry in run["engine_attempts"]] == ["proxy"] * 3
        assert set(world.callers) <= {PROXY_ADDRESS}


def test_a_crawl_waits_for_a_proxy_that_restarts_and_ends_with_one_that_does_not(tmp_path: Path) -> None:
    with proxy_world({"proxy": take_turns((8, relay), (3, cut), (8, relay), (1, cut))}) as world:
        done = crawl(tmp_path, world)
        assert done.code == 3
        stats = done.json["run"]["stats"]
        assert (stats["done"], stats["failed"]) == (16, 0), "no page fails by its proxy"
        assert stats["stopped_by"] == "proxy"
        assert "its proxy could no longer be used" in done.err
        assert set(world.callers) == {PROXY_ADDRESS}


def test_a_crawl_ends_when_its_proxy_is_dead(tmp_path: Path) -> None:
    with proxy_world({"proxy": cut}) as world:
        done = crawl(tmp_path, world)
        assert done.code == 1
        assert "the proxy of the job could not be used" in done.err + done.out
        assert world.requests == []


def test_a_crawl_whose_pool_becomes_empty_ends_partial_and_loses_no_page(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("")
    with proxy_world({"proxy": take_turns((9, relay), (1, cut))}) as world:  # the check, and eight pages
        config = {"APP_PROXY_CONFIG": str(tmp_path / "proxies.yaml")}
        (tmp_path / "proxies.yaml").write_text(f"check: {{judge: '{world.judge}', timeout_s: 2}}\n")
        (tmp_path / "list.txt").write_text(world.list_text())
        Corral(tmp_path).here("proxy", "import", str(tmp_path / "list.txt"), **QUICK, **config)
        Corral(tmp_path)("proxy", "check", **QUICK, **config)
        done = crawl(tmp_path, world, "pool", **config)
        assert done.code == 3, done.err
        stats = done.json["run"]["stats"]
        assert (stats["done"], stats["failed"], stats["stopped_by"]) == (8, 0, "proxy")
        assert set(world.callers) == {PROXY_ADDRESS}, "the pool is never bypassed"
