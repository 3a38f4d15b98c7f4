"""Gates as people and programs see them: the HTTP API, the command line, and what a kill -9 leaves."""

import asyncio
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from corral.domain.crawl.crawl import Bounds, CrawlPlan, ItemState
from corral.domain.crawl.item import BatchReport, DiscoveredLink, ItemResult, short_key
from corral.domain.net.canonical import url_key
from corral.domain.net.url import parse_target
from corral.domain.runs.outcome import Deferred, WaitReason
from corral.store.open import open_store
from corral.store.tables import hosts
from tests.cli.command import Corral
from tests.engine.crawl.site import Page, serve_site
from tests.services.process import kill_tree
from tests.stack import Stack, corral_up
from tests.store.builders import CREATED, a_run, claim
from tests.waiting import block_until

SETTINGS = {
    "APP_BREAKER_FAILURES": "3",
    "APP_WORKERS": "1",
    "APP_SHUTDOWN_GRACE_SECONDS": "0.5",
    "APP_RETRY_BASE_SECONDS": "0.05",
    "APP_RETRY_CAP_SECONDS": "0.1",
}


def gate_of(stack: Stack, host_key: str) -> dict[str, Any]:
    return next((limiter for limiter in stack.client.get("/sites/gates").json() if limiter["host"] == host_key), {})


def orchestrator_status(stack: Stack) -> dict[str, Any]:
    return dict(stack.client.get("/scraping/status").json()["orchestrator"])


def test_an_open_breaker_is_told_everywhere_survives_a_kill_and_lets_everybody_go_in_the_end(tmp_path: Path) -> None:
    with serve_site({"/": Page()}) as site:
        host_key = site.url.partition("//")[2]
        with corral_up(tmp_path, site.url, **SETTINGS, APP_BREAKER_OPEN_SECONDS="60") as stack:
            job = stack.job("/", max_attempts=50, respect_robots=False)
            site.pages["/"] = Page(status=500)
            first = stack.start(job)
            block_until(lambda: gate_of(stack, host_key).get("breaker") == "open", within_s=20)
            second = stack.start(job)
            run = block_until(
                lambda: (now := stack.run(second["id"]))["waiting_reason"] == "breaker" and now, within_s=20
            )
            assert (run["status"], run["attempt"]) == ("queued", 1)
            assert "Run waits for its host" in stack.messages(second["id"])
            block_until(lambda: stack.run(first["id"])["waiting_reason"] == "breaker", within_s=20)
            told = orchestrator_status(stack)
            assert told["circuit_breaker"]["blocked_domains"] == [host_key]
            assert told["circuit_breaker"]["domain_failure_counts"][host_key] >= 3
            assert told["circuit_breaker"]["total_blocked_domains"] == 1
            assert told["error_statistics"]["circuit_breaker_blocked"] == 2
            limiter = gate_of(stack, host_key)
            assert limiter["waiting_reason"] == "breaker"
            assert 0 < limiter["wait_s"] <= 60
            assert limiter["waiting_runs"] == 2
            kill_tree(stack.process)

        hits = site.hits["/"]
        site.pages["/"] = Page()
        with corral_up(tmp_path, site.url, **SETTINGS, APP_BREAKER_OPEN_SECONDS="60") as again:
            time.sleep(1.5)
            assert gate_of(again, host_key)["breaker"] == "open"
            assert [again.run(run["id"])["waiting_reason"] for run in (first, second)] == ["breaker"] * 2
            assert site.hits["/"] == hits
            asyncio.run(_age_breaker(again))
            for run in (first, second):
                assert again.wait_for_end(run["id"])["status"] == "completed"
            assert again.run(second["id"])["attempt"] == 1
            block_until(
                lambda: orchestrator_status(again)["circuit_breaker"]["total_blocked_domains"] == 0, within_s=20
            )
            _pace_is_set_over_http(again, site.url, host_key)
        assert site.hits["/"] == hits + 2


def _pace_is_set_over_http(stack: Stack, url: str, host_key: str) -> None:
    said = {"concurrency": 1, "delay_s": 0.2}
    answer = stack.client.put(f"/sites/pace?url={url}/x", json=said)
    assert (answer.status_code, answer.json()["pace"]) == (200, said)
    assert gate_of(stack, host_key)["pace"] == said
    for wrong in ({"concurrency": 0}, {"delay_s": "1"}, {"speed": 1}):
        assert stack.client.put(f"/sites/pace?url={url}", json=wrong).status_code == 422
    assert stack.client.put("/sites/pace?url=nowhere", json={}).status_code == 422


async def _age_breaker(stack: Stack) -> None:
    """As if the breaker had been open for a minute already."""
    store = open_store(f"sqlite:///{stack.data_dir}/corral.db")
    await store._db.write(
        lambda tx: tx.run(
            sa.update(hosts).values(opened_at=hosts.c.opened_at - 60_000, updated_at=hosts.c.updated_at + 60_000)
        )
    )
    await store.close()


def test_a_pace_is_set_and_shown_on_the_command_line(corral: Corral) -> None:
    told = corral.here("site", "pace", "www.shop.test", "--concurrency", "2", "--delay", "1.5")
    assert (told.code, told.out.strip()) == (0, "shop.test: 2 at once, 1.5 s apart")
    shown = corral.here("site", "show", "shop.test")
    assert shown.code == 0
    for expected in ("shop.test", "closed", "1.5"):
        assert expected in shown.out
    [limiter] = corral.here("site", "show", "shop.test", "--json").json["gates"]
    assert limiter["pace"] == {"concurrency": 2, "delay_s": 1.5}
    dry = corral.here("site", "pace", "shop.test", "--delay", "9", "--dry-run", "--json").json
    assert dry["pace"] == {"concurrency": None, "delay_s": 9.0}
    assert corral.here("site", "pace", "shop.test", "--reset").code == 0
    assert corral.here("site", "show", "shop.test").code == 1
    assert corral.here("site", "pace", "shop.test").code == 2
    assert corral.here("site", "pace", "shop.test", "--reset", "--delay", "1").code == 2


async def _page_that_waits(corral: Corral, url: str) -> None:
    store = open_store(f"sqlite:///{corral.data}/corral.db")
    plan = CrawlPlan.of({"start_urls": [url]})
    seed = DiscoveredLink(url, short_key(url_key(parse_target(url))), "shop.test", 0)
    await store.crawls.add(a_run(kind="crawl", payload={"crawl": plan.document()}), CREATED, [seed])
    lease = await claim(store)
    step = await store.crawls.step(lease, BatchReport((), (), 1), Bounds(10))
    assert step is not None
    refused = Deferred("shop.test", WaitReason.BREAKER, 90)
    ended = ItemResult(
        step.items[0].id, seed.key, ItemState.PENDING, "waiting:breaker", refused.message, 90, counts=False
    )
    await store.crawls.step(lease, BatchReport((ended,), (), 1), Bounds(10))
    await store.close()


def test_why_says_what_a_page_waits_for(corral: Corral) -> None:
    asyncio.run(_page_that_waits(corral, "http://shop.test/"))
    told = corral.here("why", "http://shop.test/")
    assert told.code == 0
    assert "pending: request to shop.test deferred by its circuit breaker" in told.out
    assert "attempt 1" in told.out
