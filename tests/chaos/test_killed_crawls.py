"""A crawl whose process tree is killed again and again finds what an unbroken one finds, and reads little twice."""

import hashlib
import json
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests import services
from tests.chaos.level import LEVEL, by_level, make_random
from tests.chaos.report import report
from tests.engine.crawl.site import Page, Site, serve_site
from tests.export.warc_reader import read as read_warc
from tests.stack import Stack, corral_up
from tests.waiting import pauses

AT_ONCE = 16
LEASE_S = 10.0


def a_site(count: int, dice: random.Random) -> dict[str, Page]:
    """Every page can be reached from the first one."""
    pages = {}
    for number in range(count):
        links = [f"/{dice.randrange(count)}" for _ in range(13)] + [f"/{2 * number + each}" for each in (1, 2)]
        pages[f"/{number}"] = Page([link for link in links if int(link[1:]) < count], takes_s=0.002)
    return pages


def records_of(site: Site) -> list[dict[str, Any]]:
    """What a crawl that nobody disturbs finds: every page, by the shortest way to it."""
    depths = {"/0": 0}
    edge = ["/0"]
    while edge:
        below = {link: None for path in edge for link in site.pages[path].links if link not in depths}
        depths |= dict.fromkeys(below, depths[edge[0]] + 1)
        edge = list(below)
    return [{"url": site.url + path, "title": f"Page {path}", "depth": depth} for path, depth in depths.items()]


def hash_of(records: list[dict[str, Any]]) -> tuple[int, str]:
    """Of all records, without what differs from one time to the next."""
    told = [{key: record[key] for key in ("url", "title", "depth")} for record in records]
    lines = sorted(json.dumps(each, sort_keys=True) for each in told)
    return len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest()


def status(stack: Stack, task: str) -> dict[str, Any]:
    return dict(stack.client.get(f"/scraping/tasks/{task}/status").json())


def wait_for_task(stack: Stack, task: str) -> dict[str, Any]:
    deadline = time.monotonic() + 120
    looks = pauses()
    while (now := status(stack, task))["status"] in ("pending", "running"):
        assert time.monotonic() < deadline, now
        time.sleep(next(looks))
    return now


def submit(stack: Stack, site: Site, count: int) -> str:
    body = {"url": f"{site.url}/0", "max_depth": 5, "max_pages": count, "max_concurrent_articles": AT_ONCE}
    answer = stack.client.post("/scraping/async-scrape", json={**body, "keep_pages": True})
    return str(answer.json()["task_id"])


def list_archived(stack: Stack, task: str) -> list[str]:
    """The addresses of the pages that were kept."""
    data = stack.client.get(f"/scraping/tasks/{task}/export?format=warc").content
    return sorted(url or "" for kind, url, _, _ in read_warc(data) if kind == "response")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"] if LEVEL else ["sqlite"])
def test_a_crawl_killed_anywhere_ends_as_if_it_had_not_been(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    dice = make_random()
    count, kills = by_level(200, 5000), by_level(2, 50)
    settings = {"APP_WORKERS": "1", "APP_SHUTDOWN_GRACE_SECONDS": "0.5"}
    if kind == "postgresql":
        cluster: services.PostgresCluster = request.getfixturevalue("postgres")
        settings["APP_DATABASE_URL"] = cluster.create_migrated()
    again_s: list[float] = []
    with serve_site(a_site(count, dice)) as site:
        expected = hash_of(records_of(site))
        task, killed, found, kept = "", 0, (0, ""), [""]
        while True:
            with corral_up(tmp_path, site.url, **settings) as stack:
                task = task or submit(stack, site, count)
                began, before = time.monotonic(), sum(site.hits.values())
                while sum(site.hits.values()) == before and status(stack, task)["status"] in ("pending", "running"):
                    time.sleep(0.01)
                again_s.append(time.monotonic() - began)
                if killed == kills:
                    assert wait_for_task(stack, task)["status"] == "completed"
                    found = hash_of(stack.client.get(f"/scraping/tasks/{task}/results").json()["results"])
                    kept = list_archived(stack, task)
                    break
                time.sleep(dice.random())
                stack.process.send_signal(signal.SIGKILL)
                stack.process.wait()
                killed += 1
        twice = sum(site.hits.values()) - site.hits["/robots.txt"] - count
    assert found == expected
    assert kept == sorted(site.url + path for path in site.pages), "every page is kept, and none of them twice"
    assert max(again_s[1:]) < LEASE_S, "nobody waits for the lease of a node that is known to be dead"
    # Being fetched, being read, or read and not yet on record.
    assert twice <= killed * 3 * AT_ONCE, f"{twice} pages were read again after {killed} kills"
    report(
        f"{kind}: {count} pages, killed {killed} times: {twice} read again, none lost; "
        f"reading again {max(again_s[1:]):.1f} s after the restart at the latest"
    )
