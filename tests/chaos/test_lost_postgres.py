"""A database that goes away and comes back: nobody hangs, nothing is lost, nothing is done twice."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.chaos.fleet import Answers, create_job, fleet, submit, until_works, wait_until_drained
from tests.chaos.history import check, read
from tests.chaos.level import by_level, make_random
from tests.chaos.report import report
from tests.services import PostgresCluster, RedisServer, postgres_cluster
from tests.slack import SLACK
from tests.stack import demo_site

RUNS = by_level(60, 2_000)
SECONDS = by_level(5, 600)
BETWEEN_S = (2.0, 4.0) if by_level(0, 1) == 0 else (5.0, 40.0)


@pytest.fixture
def cluster() -> Iterator[PostgresCluster]:
    """Its own: the tests beside this one would not like to lose theirs."""
    with postgres_cluster() as made:
        yield made


def test_runs_survive_a_database_that_is_killed_again_and_again(
    tmp_path: Path, cluster: PostgresCluster, redis_server: RedisServer
) -> None:
    url = cluster.create_database()
    answers, reads = Answers(), Answers()
    enough, times = threading.Event(), list[float]()
    with fleet(tmp_path, url, redis_server.url(5)) as made, demo_site() as site:
        until_works(made.start_worker("--beat"))
        job = create_job(made.url, f"{site}/articles")
        asking = threading.Thread(target=ask, args=(made.url, job, reads, enough), daemon=True)
        asking.start()
        with ThreadPoolExecutor(1) as threads:
            submitting = threads.submit(submit, made.url, job, RUNS, answers, spread_s=SECONDS)
            submitting.add_done_callback(lambda _: enough.set())
            # Not from a thread: what a thread has started dies with the thread.
            hurt(cluster, enough, times)
            submitting.result()
        asking.join()
        took_s = wait_until_drained(made.url, 60, made.logs)
    assert check(url, answers.ids) == []
    history = read(url)
    assert {history.runs[id_].state for id_ in answers.ids} == {"completed"}
    assert all(len(history.records[id_]) == 1 for id_ in answers.ids)
    for said in (answers, reads):
        assert said.statuses.keys() <= {200, 503}, said.statuses
        assert said.without_retry_after == 0
        assert said.slowest_s < 2 + 1 * SLACK, "the API hung"
    slowest_s = max(answers.slowest_s, reads.slowest_s)
    report(
        f"postgresql: {RUNS} runs in {SECONDS} s, killed {len(times)} times: all ended once, {took_s:.1f} s after the "
        f"last; answers {answers.statuses}, reads {reads.statuses}, the slowest after {slowest_s:.2f} s"
    )


def hurt(cluster: PostgresCluster, enough: threading.Event, times: list[float]) -> None:
    rng = make_random()
    while not enough.wait(rng.uniform(*BETWEEN_S)):
        times.append(time.monotonic())
        if rng.random() < 0.5:
            cluster.kill()
        else:
            cluster.stop()
        time.sleep(rng.uniform(0.1, 1.5))
        _start(cluster)


def _start(cluster: PostgresCluster) -> None:
    """One that was killed may still be leaving: it says so, and is to be started again."""
    for left in reversed(range(20)):
        try:
            cluster.start()
        except Exception:
            if not left:
                raise
            time.sleep(0.3)
        else:
            return


def ask(url: str, job: str, reads: Answers, enough: threading.Event) -> None:
    """Somebody who only looks is not to hang either."""
    with httpx.Client(base_url=url, timeout=30) as client:
        while not enough.wait(0.05):
            began = time.monotonic()
            reads.note(client.get(f"/jobs/{job}"), time.monotonic() - began)
