"""A shared crawl whose workers die: what they held is read by others, and nothing twice that was written."""

import random
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from corral.domain.crawl.crawl import Bounds
from corral.domain.crawl.item import BatchReport
from corral.domain.runs.loss import Blame, Loss
from corral.domain.runs.run import CRAWL_HELPER, Lease, RunState
from corral.store.open import open_store
from corral.store.store import Store
from tests.chaos.level import LEVEL, by_level
from tests.services.sqlite import migrate
from tests.store.builders import OTHER, check_history
from tests.store.conftest import Sql
from tests.store.sharing import (
    SHARED,
    Worker,
    a_crawl,
    check,
    claim_worker,
    done,
    helpers,
    page,
    share_crawl,
    work_off,
)


@pytest.fixture(params=("file", "postgres") if LEVEL else ("file",))
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """One database for most of this; the other one for what tries all of it together."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{migrate(tmp_path / 'corral.db')}"


# -- who dies ----------------------------------------------------------------------------------------------


async def test_what_a_dead_helper_held_is_read_by_others(store: Store, sql: Sql) -> None:
    crawl, helper = await share_crawl(store)
    lost = set(helper.held)
    await store.runs.lose([Loss(helper.lease, Blame.NONE, "killed")])
    assert await store.crawls.step(helper.lease, BatchReport((), tuple(lost), 5), SHARED) is None
    await work_off([crawl])
    assert sql("SELECT count(*) FROM items WHERE state <> 'done'") == [(0,)]
    [(count,)] = sql("SELECT count(*) FROM records")
    assert count == 4 * 30 - 4 + 4


async def test_a_helper_that_comes_back_begins_with_nothing(store: Store, sql: Sql) -> None:
    crawl, helper = await share_crawl(store)
    await store.runs.lose([Loss(helper.lease, Blame.NONE, "killed")])
    [again] = await helpers(store, 1, helper.bounds)
    assert again.lease.run_id == helper.lease.run_id
    step = await again.step()
    assert (step.items, step.at_once) == ((), 0)
    check(sql, crawl.lease.run_id, step.counts)
    await work_off([crawl, again])
    assert sql("SELECT count(*) FROM items WHERE state <> 'done'") == [(0,)]


async def test_helpers_go_on_while_the_crawl_has_no_worker(store: Store, sql: Sql) -> None:
    crawl, helper = await share_crawl(store)
    await store.runs.lose([Loss(crawl.lease, Blame.NONE, "killed")])
    step = await helper.step(*(done(each) for each in helper.held.values()))
    assert step.items
    again = await claim_worker(store, crawl.lease.run_id, crawl.bounds)
    assert (await again.step()).at_once is not None
    assert not again.places & helper.places
    await work_off([again, helper])
    assert sql("SELECT count(*) FROM items WHERE state <> 'done'") == [(0,)]


async def test_only_what_the_dead_one_held_is_suspected(store: Store, sql: Sql) -> None:
    crawl, helper = await share_crawl(store)
    await store.runs.lose([Loss(helper.lease, Blame.CERTAIN, "killed by SIGSEGV")])
    suspects = {id_ for (id_,) in sql("SELECT id FROM items WHERE losses > 0")}
    assert suspects == set(helper.held)
    step = await crawl.step(*(done(each) for each in crawl.held.values()))
    assert {item.id for item in step.items} <= suspects, "they are tried apart"
    await work_off([crawl])
    assert sql("SELECT count(*) FROM items WHERE state <> 'done'") == [(0,)]


@pytest.mark.parametrize("seed", range(by_level(3, 100)))
async def test_whatever_happens_every_page_is_read_once(store: Store, sql: Sql, seed: int) -> None:
    await read_in_any_order(store, sql, seed)


async def test_whatever_happens_on_postgresql(postgres_url: str) -> None:
    store = open_store(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        workers = await read_in_any_order(store, lambda text: connection.execute(text.encode()).fetchall(), 0)
        [crawl] = [worker for worker in workers if worker.lease.run.kind != CRAWL_HELPER]
        await crawl.step(want=0, is_last=True)
        assert connection.execute(
            "SELECT count(*) FROM runs WHERE kind = 'share' AND state = 'running'"
        ).fetchall() == [(0,)]
    await store.close()


async def read_in_any_order(store: Store, sql: Sql, seed: int) -> list[Worker]:
    dice = random.Random(seed)
    hosts, count = dice.randint(2, 9), 90
    links = {
        (host, number): [(dice.randrange(hosts), dice.randrange(count // hosts)) for _ in range(4)]
        for host in range(hosts)
        for number in range(count // hosts)
    }
    run_id = await a_crawl(store, *(page(host, 0) for host in range(hosts)))
    by_depth = dice.random() < 0.7
    bounds = SHARED._replace(by_depth=by_depth)
    workers = [await claim_worker(store, run_id, bounds)]
    reads: Counter[str] = Counter()
    lost = 0
    for _ in range(2_000):
        workers += [Worker(store, lease, bounds) for lease in await store.crawls.claim_helpers(OTHER, 3, 10)]
        worker = dice.choice(workers)
        if dice.random() < 0.02:
            workers.remove(worker)
            lost += len(worker.held)
            reads.update(item.url for item in worker.held.values())
            await store.runs.lose([Loss(worker.lease, Blame.NONE, "killed")])
            await _take_up(store, workers, worker.lease, bounds)
            continue
        ready = [item for item in worker.held.values() if dice.random() < 0.5]
        ended = []
        for item in ready:
            reads[item.url] += 1
            host, _, number = item.key.removeprefix("h").partition(".test/")
            ended.append(done(item, *(page(*link, item.depth + 1) for link in links[int(host), int(number)])))
        step = await worker.step(*ended)
        if not step.is_over:
            check(sql, run_id, step.counts)
        is_over = worker.lease.run_id == run_id and worker.is_done
        if is_over:
            break
    else:
        raise AssertionError("it never ends")
    assert sql("SELECT count(*) FROM items WHERE state <> 'done'") == [(0,)]
    assert set(reads) == {url for (url,) in sql("SELECT url FROM items")}
    assert sum(reads.values()) <= len(reads) + lost
    await check_history(store, run_id)
    return workers


async def _take_up(store: Store, workers: list[Worker], lease: Lease, bounds: Bounds) -> None:
    run = await store.runs.get(lease.run_id)
    if run.state is RunState.QUEUED and run.kind != CRAWL_HELPER:
        workers.append(await claim_worker(store, run.id, bounds))
