"""`with Orchestrator() as orch:` as a script has it: services, sites, and the end of the block."""

import contextlib
import inspect
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from redis import Redis

from corral.domain.campaigns.site_work import SiteWork, progress
from corral.domain.crawl.crawl import Counts
from corral.domain.errors import BadConfiguration, BadInput, RunNotFound
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import RunState
from corral.settings import Settings
from corral.supervisor import Orchestrator
from corral.supervisor.checks import redis_health
from corral.supervisor.plan import WELL, Service
from corral.wiring.redis import broker_url
from tests.chaos.level import LEVEL
from tests.cli.command import Corral
from tests.domain.runs.builders import A_RUN
from tests.engine.crawl.site import Page, serve_site
from tests.forked.process import start_process
from tests.services import RedisServer
from tests.services.ports import free_port
from tests.slack import SLACK
from tests.stack import environment
from tests.supervisor.programs import have_ended, journal, service
from tests.waiting import block_until

METHODS = {
    "start_redis": [],
    "start_celery": [],
    "is_celery_alive": [],
    "restart_celery_if_dead": [],
    "get_proxy_count": [],
    "get_usable_proxy_count": [],
    "trigger_proxy_refresh": [],
    "wait_for_proxies": ["min_count=10", "timeout=2400"],
    "get_refresh_progress": ["job_id"],
    "start_site_scraping": ["site", "urls"],
    "start_all_sites_scraping": ["sites"],
    "get_scraping_progress": ["job_id"],
    "stop_all": [],
}


def settings_in(folder: Path, **more: Any) -> Settings:
    url = f"redis://127.0.0.1:{free_port()}/1"
    return Settings(**{"data_dir": folder / "var", "celery_broker_url": url, **more})


def test_it_has_the_methods_of_the_contract() -> None:
    found = {name: member for name, member in vars(Orchestrator).items() if not name.startswith("_")}
    assert list(found) != []
    assert set(found) == set(METHODS)
    for name, expected in METHODS.items():
        parameters = list(inspect.signature(found[name]).parameters.values())[1:]
        shown = [each.name if each.default is each.empty else f"{each.name}={each.default}" for each in parameters]
        assert shown == expected


def test_a_redis_of_ours_is_gone_after_the_block_whatever_happens_in_it(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    orch = Orchestrator(settings)
    with contextlib.suppress(ZeroDivisionError), orch:
        assert orch.start_redis()
        assert orch.start_redis(), "once is enough"
        assert redis_health(broker_url(settings)) == WELL
        assert not orch.is_celery_alive()
        orch.stop_all()
        assert redis_health(settings.celery_broker_url) != WELL
        assert orch.start_redis(), "and it can be had again"
        _ = 1 / 0
    assert redis_health(settings.celery_broker_url) != WELL
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    orch.stop_all()  # harmless


def test_what_cannot_be_started_is_an_error_and_nothing_else(tmp_path: Path) -> None:
    with Orchestrator(settings_in(tmp_path, celery_broker_url="amqp://host")) as orch:
        with pytest.raises(BadConfiguration, match="the broker is a Redis"):
            orch.start_celery()
        assert not (tmp_path / "var").exists()


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Orchestrator]:
    """With small programs in the place of Redis and the worker."""
    services: list[Service] = [service("redis", tmp_path), service("worker-1", tmp_path, "redis")]
    with Orchestrator(settings_in(tmp_path)) as orch:
        monkeypatch.setattr(orch._installation, "services", lambda: services)
        yield orch


def test_a_dead_worker_is_started_again_at_once_and_a_silent_one_is_left_alone(
    small: Orchestrator, tmp_path: Path
) -> None:
    assert small.start_celery()
    file = tmp_path / "worker-1"
    pid = int(file.read_text())
    assert small.restart_celery_if_dead(), "it lives"
    file.unlink()
    assert not small.is_celery_alive(), "it does not answer"
    assert small.restart_celery_if_dead(), "and is busy, for all we know"
    assert psutil.pid_exists(pid)

    os.kill(pid, signal.SIGKILL)
    block_until(lambda: small._supervisor is not None and not small._supervisor.is_running("worker-1"))
    assert small.restart_celery_if_dead()
    assert small.is_celery_alive()
    assert int(file.read_text()) != pid
    small.stop_all()
    assert journal(tmp_path) == [
        *("start redis", "start worker-1", "start worker-1"),
        *("stop worker-1", "stop redis"),
    ]


def test_work_on_a_site_is_these_pages_and_no_others() -> None:
    work = SiteWork.of(" shop ", ["http://a.example/1", "http://a.example/1#top", "http://b.example/"])
    assert (work.site, work.plan.max_pages, work.about) == ("shop", 2, {"site": "shop", "pages": 2})
    assert work.plan.scope.refuses("http://a.example/2", 1) is not None
    assert work.plan.scope.refuses("http://b.example/", 0) is None
    for site, urls in (("", ["http://a.example"]), ("shop", []), ("shop", "http://a.example"), ("shop", ["nonsense"])):
        with pytest.raises(BadInput):
            SiteWork.of(site, urls)


@pytest.mark.parametrize(
    "counts, told",
    [
        (Counts(pending=10), (0, 10, 0.0, "unknown")),
        (Counts(pending=5, done=5), (0, 5, 50.0, "healthy")),
        (Counts(leased=1, done=8, failed=1, skipped=90), (0, 1, 90.0, "degraded")),
        (Counts(done=2, failed=7, skipped=1), (1, 0, 100.0, "failing")),
    ],
)
def test_progress_is_derived_from_the_rows(counts: Counts, told: tuple[int, int, float, str]) -> None:
    state = RunState.RUNNING if counts.waiting else RunState.PARTIAL
    shown = progress(A_RUN._replace(payload=Payload({"about": {"site": "shop", "pages": 10}}), state=state), counts)
    assert (shown["skipped"], shown["pending"], shown["percent"], shown["health"]) == told
    assert shown["done"] + shown["failed"] + shown["skipped"] + shown["pending"] == shown["total"] == 10


def test_nothing_is_started_where_one_address_is_refused(tmp_path: Path) -> None:
    with Orchestrator(settings_in(tmp_path)) as orch:
        with pytest.raises(BadInput, match=r"169\.254"):
            orch.start_all_sites_scraping({"good": ["http://93.184.216.34/"], "bad": ["http://169.254.169.254/"]})
        assert not (tmp_path / "var").exists()
        with pytest.raises(RunNotFound):
            orch.get_scraping_progress("01a1e125-d795-7a16-b637-e8e9989dd5d7")


def read_keys(url: str, pattern: str) -> dict[bytes, bytes]:
    with Redis.from_url(url) as client:
        return {key: client.get(key) for key in client.scan_iter(pattern)}


def test_without_celery_sites_are_scraped_by_a_node_of_the_program(tmp_path: Path) -> None:
    pages = {f"/{number}": Page() for number in range(3)}
    before = set(psutil.Process().children(recursive=True))
    settings = settings_in(tmp_path, egress_allow="127.0.0.0/8:*", workers=1, shutdown_grace_seconds=1)
    with serve_site(pages) as shop, Orchestrator(settings) as orch:
        one = orch.start_site_scraping("one", [f"{shop.url}/0"])
        two = orch.start_all_sites_scraping({"two": [f"{shop.url}/1", f"{shop.url}/2", f"{shop.url}/none"]})["two"]
        block_until(lambda: all(orch.get_scraping_progress(job)["finished_at"] for job in (one, two)), 30)
        assert orch.get_scraping_progress(one)["status"] == "completed"
        told = orch.get_scraping_progress(two)
        assert (told["site"], told["status"], told["done"], told["skipped"]) == ("two", "partial", 2, 0)
        family = [each for each in psutil.Process().children(recursive=True) if each not in before]
    block_until(lambda: not [each for each in family if each.is_running() and "corral." in " ".join(each.cmdline())])


_SCRIPT = """
import json, os, signal, sys, time
from corral.supervisor import Orchestrator

def say(**told):
    print(json.dumps(told), flush=True)

site, kills = sys.argv[1], sys.argv[2] == "kill"
with Orchestrator() as orch:
    say(redis=orch.start_redis(), celery=orch.start_celery(), again=orch.start_celery(), alive=orch.is_celery_alive())
    if kills:
        os.kill(orch._supervisor.status()[1].pid, signal.SIGKILL)
        while orch._supervisor.is_running("worker-1"):
            time.sleep(0.01)
        say(restarted=orch.restart_celery_if_dead(), alive=orch.is_celery_alive())
    pages = {"articles": [site + "/articles", site + "/", site + "/gone"], "one": [site + "/articles"]}
    jobs = orch.start_all_sites_scraping(pages)
    while True:
        seen = {name: orch.get_scraping_progress(job) for name, job in jobs.items()}
        if all(each["finished_at"] for each in seen.values()):
            break
        time.sleep(0.1)
    say(seen=seen)
    time.sleep(60)
"""


def test_sites_are_scraped_by_the_worker_and_a_signal_ends_what_was_started(
    tmp_path: Path, corral: Corral, site: str, redis_server: RedisServer
) -> None:
    variables = environment(tmp_path / "var", APP_CELERY_BROKER_URL=redis_server.url(11))
    arguments = [_SCRIPT, site, "kill" if LEVEL else "live"]
    with (tmp_path / "log").open("wb") as log, contextlib.ExitStack() as stack:
        script = start_process(arguments, module="-c", env=variables, cwd=tmp_path, stderr=log)
        stack.callback(script.kill)
        assert script.stdout is not None
        stack.enter_context(script.stdout)
        told = json.loads(script.stdout.readline())
        assert told == {"redis": True, "celery": True, "again": True, "alive": True}
        if LEVEL:
            assert json.loads(script.stdout.readline()) == {"restarted": True, "alive": True}
        seen = json.loads(script.stdout.readline())["seen"]
        job = seen["articles"]["job_id"]
        mirrored = f"scrape_articles:{job}:status"
        block_until(lambda: read_keys(redis_server.url(11), mirrored).get(mirrored.encode()) == b"partial")
        shown = corral.here("status", "--json", APP_DATA_DIR=variables["APP_DATA_DIR"]).json["workers"]
        ours = [psutil.Process(pid) for pid in (script.pid, *(each["pid"] for each in shown))]
        family = [process for parent in ours for process in (parent, *parent.children(recursive=True))]
        assert len(ours) == 2
        assert len(family) >= 5  # the script, the worker with its process, the reaper; what stands for a fork
        number, code = (signal.SIGINT, -signal.SIGINT) if LEVEL else (signal.SIGTERM, 128 + signal.SIGTERM)
        script.send_signal(number)
        assert script.wait(20 * SLACK) == code
    block_until(lambda: have_ended(family), 2.0)
    assert redis_health(redis_server.url(11)) == WELL, "it was there before us"
    assert not (tmp_path / "var/redis").exists()

    keys = {key.decode(): value.decode() for key, value in read_keys(redis_server.url(11), "scrape_articles:*").items()}
    assert keys[f"scrape_articles:{job}:status"] == "partial"
    assert (keys[f"scrape_articles:{job}:done"], keys[f"scrape_articles:{job}:total"]) == ("2", "3")

    both, one = seen["articles"], seen["one"]
    counts = [both[name] for name in ("total", "done", "failed", "pending", "percent", "error_rate", "health")]
    assert counts == [3, 2, 1, 0, 100.0, 0.3333, "degraded"]
    assert (both["site"], both["status"]) == ("articles", "partial")
    assert (one["status"], one["total"], one["done"], one["health"]) == ("completed", 1, 1, "healthy")
