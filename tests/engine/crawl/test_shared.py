"""One crawl, several nodes on one database: who reads what, and what happens when some of them are killed."""

import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import services
from tests.chaos.level import LEVEL, by_level, make_random
from tests.chaos.report import report
from tests.engine.crawl.web import Web, a_web, processes_in
from tests.forked.process import Process, start_process
from tests.slack import SLACK
from tests.stack import Stack, corral_up, stop

AT_ONCE = 8
HOSTS = 5
PAGES = by_level(19, 255)
STOPS_WITHIN_S = 2.0
HELD_S = 2.0


@dataclass
class Fleet:
    """`corral serve` and some of `corral worker`, each with one worker process."""

    stack: Stack
    folder: Path
    others: list[Process] = field(default_factory=list)

    def join(self) -> Process:
        told = self.folder / f"worker-{len(list(self.folder.glob('worker-*')))}"
        with told.open("wb") as out, (self.folder / "log").open("ab") as log:
            process = start_process(
                ["worker", "--json"], env=self.stack.environment, cwd=self.folder, stdout=out, stderr=log
            )
        self.others.append(process)
        deadline = time.monotonic() + 30 * SLACK
        while not told.read_bytes():  # one line once it works
            assert process.poll() is None, (self.folder / "log").read_text()[-2000:]
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return process

    def workers(self) -> list[int]:
        """Which worker asked for a page is known by its process, which is a fork in the folder of its node."""
        nodes = {self.stack.process.pid, *(each.pid for each in self.others)}
        return [pid for pid in processes_in(self.folder) if pid not in nodes]

    def start(self, web: Web, **options: Any) -> str:
        body = {"url": f"{web.sites[0].url}/0", "max_depth": 5, "max_concurrent_articles": AT_ONCE, "workers": 4}
        body |= {"allowed_domains": ["127.0.0.1"], "max_pages": 100_000, **options}
        answer = self.stack.client.post("/scraping/async-scrape", json=body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["task_id"])

    def wait_for_end(self, task: str) -> dict[str, Any]:
        return self.stack.wait_for_end(task, 60)

    def take_report(self, task: str) -> list[str]:
        return [each for each in self.stack.messages(task) if each.startswith("Helper")]

    def records(self, task: str) -> dict[str, int]:
        """The pages, and how deep they lie."""
        found = self.stack.client.get(f"/scraping/tasks/{task}/results").json()["results"]
        pages = {str(each["url"]): int(each["depth"]) for each in found}
        assert len(pages) == len(found)
        return pages


@contextmanager
def a_fleet(folder: Path, database: str, others: int, **more: str) -> Iterator[Fleet]:
    settings = {"APP_DATABASE_URL": database, "APP_WORKERS": "1", "APP_SHUTDOWN_GRACE_SECONDS": "0.5", **more}
    with corral_up(folder, "http://127.0.0.1:9", "serve", **settings) as stack:
        fleet = Fleet(stack, folder)
        try:
            for _ in range(others):
                fleet.join()
            yield fleet
        finally:
            for process in fleet.others:
                stop(process)


@pytest.fixture(scope="module", params=["looking", "told"] if LEVEL else ["looking"])
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Nodes that look for runs themselves, or are told of them by messages."""
    cluster: services.PostgresCluster = request.getfixturevalue("postgres")
    told = {}
    if request.param == "told":
        redis: services.RedisServer = request.getfixturevalue("redis_server")
        told = {"APP_TRANSPORT": "celery", "APP_CELERY_BROKER_URL": redis.url(3)}
    folder = tmp_path_factory.mktemp("fleet")
    with a_fleet(folder, cluster.create_migrated(), by_level(2, 4), **told) as running:
        yield running


@contextmanager
def web_for(fleet: Fleet, takes_s: float = 0.2) -> Iterator[Web]:
    with a_web(HOSTS, PAGES, takes_s=takes_s, asks=fleet.workers) as serving:
        start = serving.sites[0].pages["/0"]
        # To all hosts, so that there is something to share from the beginning.
        start.links = [*start.links, *(f"{site.url}/0" for site in serving.sites)]
        yield serving


@pytest.fixture
def web(fleet: Fleet) -> Iterator[Web]:
    """Its pages take long until a test releases them: a crawl does not end before a busy machine has shared it."""
    with web_for(fleet) as serving:
        serving.hold(HELD_S)
        yield serving


def until_shared(fleet: Fleet, web: Web, task: str, since: int = 0) -> None:
    """Until two processes have read pages, or there is nothing left to read."""
    deadline = time.monotonic() + 30 * SLACK
    while len({visit.process for visit in web.visits[since:]} & set(fleet.workers())) < 2:
        assert time.monotonic() < deadline, (fleet.stack.run(task), fleet.take_report(task))
        if fleet.stack.run(task)["status"] not in ("queued", "running"):
            return
        time.sleep(0.25)  # each look costs the API CPU time


def test_several_nodes_share_a_crawl(fleet: Fleet, web: Web) -> None:
    task = fleet.start(web)
    until_shared(fleet, web, task)
    listed = fleet.stack.client.get("/jobs/runs").json()
    assert [run["id"] for run in listed if run["status"] == "running"] == [task]
    web.is_released.set()
    run = fleet.wait_for_end(task)
    assert run["status"] == "completed", run
    assert fleet.records(task) == web.depths()
    assert web.read_twice() == 0, "each page is read once"
    assert web.list_shared_hosts() == [], "a host is with one worker at a time"
    assert web.most_at_once() <= AT_ONCE, "all of them together read no more at once than the plan says"
    assert min(web.processes().values()) >= len(web.pages) // 10, "each had a share of it"
    assert {"Helper joined", "Helper left"} == set(fleet.take_report(task))
    report(f"{len(web.pages)} pages of {HOSTS} hosts, shared by {sorted(web.processes().values())}")


# Whoever helps finds out about either in the same way.
@pytest.mark.parametrize("way", ["pause", "cancel"] if LEVEL else ["pause"])
def test_who_helps_stops_with_the_crawl(fleet: Fleet, web: Web, way: str) -> None:
    task = fleet.start(web)
    until_shared(fleet, web, task)
    assert fleet.stack.client.post(f"/jobs/runs/{task}/{way}").status_code == 200
    web.is_released.set()
    stopped = time.monotonic()
    done = fleet.stack.run(task)["progress"]
    time.sleep(STOPS_WITHIN_S + 0.5)
    assert [visit for visit in web.visits if visit.began > stopped + STOPS_WITHIN_S] == []
    assert fleet.stack.run(task)["progress"] == done, "nothing is written after the end"
    if way == "pause":
        assert fleet.stack.client.post(f"/jobs/runs/{task}/resume").status_code == 200
        assert fleet.wait_for_end(task)["status"] == "completed"
        assert fleet.records(task) == web.depths()
        assert web.read_twice() <= 3 * AT_ONCE, "what they had in hand"


@pytest.mark.skipif(not LEVEL, reason="the long version; the store's own tests try it, too")
def test_budgets_are_for_all_together(fleet: Fleet, web: Web) -> None:
    web.is_released.set()
    task = fleet.start(web, max_pages=HOSTS * 12, max_per_host=20)
    run = fleet.wait_for_end(task)
    assert run["status"] == "completed"
    assert len(web.pages) == HOSTS * 12
    assert max(sum(visit.host == host for visit in web.pages) for host in range(HOSTS)) <= 20


@pytest.mark.timeout(by_level(120, 600))
def test_a_shared_crawl_survives_whoever_is_killed(fleet: Fleet) -> None:
    dice: random.Random = make_random()
    kills, takes_s = by_level(1, 12), by_level(30, 250) / 1000
    with web_for(fleet, takes_s) as web:
        task = fleet.start(web)
        killed = 0
        while killed < kills:
            # A crawl that does not get on between two deaths is taken for what kills its workers.
            until_shared(fleet, web, task, since=len(web.visits))
            if fleet.stack.run(task)["status"] not in ("queued", "running"):
                break
            time.sleep(dice.random() / 2)
            victim = fleet.others.pop(dice.randrange(len(fleet.others)))
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            fleet.join()
            killed += 1
        assert fleet.wait_for_end(task)["status"] == "completed"
        assert fleet.records(task) == web.depths()
        twice = web.read_twice()
        assert twice <= killed * 2 * AT_ONCE
        assert web.list_shared_hosts() == []
    report(f"{len(web.depths())} pages, shared; {killed} nodes killed, {twice} pages read again")
