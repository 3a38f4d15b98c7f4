"""What happens to crawls after their end, and what is remembered of the sites they were at."""

import asyncio
from datetime import UTC, datetime

import pytest

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import BatchReport, ItemResult
from corral.domain.runs.retention import Retention
from corral.domain.runs.run import Lease, RunAction
from corral.store.store import Store
from tests.store import builders
from tests.store.builders import CREATED, a_run
from tests.store.conftest import Sql
from tests.store.maintenance_helpers import _old_run
from tests.store.queries.crawl.builders import ask, claim_run, done, first, url

HOUR_MS = 3_600_000
A_DAY = Retention(max_crawl_age_hours=24)


async def an_old_crawl(store: Store, sql: Sql, *, pages: int = 3, keep: bool = False, hours_ago: int = 25) -> str:
    """A crawl that ended so long ago."""
    run_id = _old_run(2)
    run = a_run(id=run_id, kind="crawl", max_attempts=1)
    await store.crawls.add(run, CREATED, [url(number) for number in range(pages)], keep=keep)
    lease = await claim_run(store, run_id)
    items = (await first(store, lease, pages)).items
    await ask(store, lease, BatchReport(tuple(done(each) for each in items), (), 0))
    await builders.settle(store, builders.complete(lease))
    sql(f"UPDATE runs SET finished_at = finished_at - {hours_ago * HOUR_MS} WHERE id = '{run_id}'")
    return run_id


async def purge_all(store: Store, rows: int = 1000) -> int:
    steps = 0
    while await store.maintenance.purge(rows):
        steps += 1
    return steps


def rows_of(sql: Sql, run_id: str) -> dict[str, int]:
    tables = ("runs", "crawls", "items", "records", "events", "pinned_runs", "purge_queue", "site_statistics")
    names = {name: "id" if name == "runs" else "run_id" for name in tables}
    count = "SELECT count(*) FROM {table} WHERE {column} = '{id}'"
    found = {
        table: int(sql(count.format(table=table, column=column, id=run_id))[0][0]) for table, column in names.items()
    }
    return {table: number for table, number in found.items() if number}


async def test_a_finished_crawl_is_forgotten_with_all_that_belongs_to_it_after_its_time(store: Store, sql: Sql) -> None:
    old, recent = await an_old_crawl(store, sql), await an_old_crawl(store, sql, hours_ago=23)
    assert await store.maintenance.prune(A_DAY) == 1
    assert await store.maintenance.prune(A_DAY) == 0
    await purge_all(store)
    assert rows_of(sql, old) == {}
    assert rows_of(sql, recent)["records"] == 3
    assert await store.maintenance.audit() == []


async def test_one_that_a_person_asked_to_keep_stays_until_it_is_let_go(store: Store, sql: Sql) -> None:
    run_id = await an_old_crawl(store, sql, keep=True)
    other = await an_old_crawl(store, sql)
    await store.runs.keep(other, keep=True)
    await store.runs.keep(other, keep=True)
    assert await store.runs.is_pinned(run_id)
    assert await store.maintenance.prune(A_DAY) == 0
    await store.runs.keep(run_id, keep=False)
    assert not await store.runs.is_pinned(run_id)
    assert await store.maintenance.prune(A_DAY) == 1
    await purge_all(store)
    assert rows_of(sql, run_id) == {}
    assert rows_of(sql, other)["items"] == 3


async def test_the_records_of_a_kept_crawl_outlive_its_run(store: Store, sql: Sql) -> None:
    run_id, other = await an_old_crawl(store, sql, keep=True), await an_old_crawl(store, sql)
    assert await store.maintenance.prune(Retention(max_finished_runs=0, keep_records=False)) == 2
    await purge_all(store)
    assert rows_of(sql, run_id) == {"records": 3}
    assert rows_of(sql, other) == {}


async def test_other_runs_and_crawls_that_have_not_ended_are_not_touched(store: Store, sql: Sql) -> None:
    page = await builders.add(store, a_run(id=_old_run(3)))
    await store.runs.apply_action(page, RunAction.CANCEL)
    sql(f"UPDATE runs SET finished_at = 1 WHERE id = '{page}'")
    waiting = a_run(id=_old_run(3), kind="crawl", max_attempts=1)
    await store.crawls.add(waiting, CREATED, [url(0)])
    assert await store.maintenance.prune(A_DAY) == 0
    assert await store.maintenance.prune(Retention()) == 0


async def test_a_large_crawl_is_cleared_away_in_small_pieces_and_can_be_interrupted(store: Store, sql: Sql) -> None:
    run_id = await an_old_crawl(store, sql, pages=10)
    assert await store.maintenance.prune(A_DAY) == 1
    assert set(rows_of(sql, run_id)) == {"items", "records", "purge_queue", "site_statistics"}, "the run is gone"
    assert await store.maintenance.purge(4)
    assert (rows_of(sql, run_id)["items"], rows_of(sql, run_id)["records"]) == (6, 6)
    assert await purge_all(store, 4) == 2
    assert rows_of(sql, run_id) == {}


# -- statistics ---------------------------------------------------------------------------------------


def item_result(item_id: int, state: ItemState, reason: str | None, took_ms: int) -> ItemResult:
    return ItemResult(item_id, f"key-{item_id}", state, reason, took_ms=took_ms)


async def a_day_at_the_site(store: Store) -> Lease:
    """Two pages done, one failed, one skipped, one tried again."""
    run_id, _ = await store.crawls.add(a_run(kind="crawl"), CREATED, [url(number) for number in range(5)])
    lease = await claim_run(store, run_id)
    one, two, three, four, five = (await first(store, lease)).items
    report = (
        done(one, took_ms=100),
        done(two, took_ms=300),
        item_result(three.id, ItemState.FAILED, "timeout:total", 500),
        item_result(four.id, ItemState.SKIPPED, "noindex", 50),
        item_result(five.id, ItemState.PENDING, "network:reset", 50),
    )
    await ask(store, lease, BatchReport(report, (), 0))
    await ask(store, lease, BatchReport(report, (), 0))
    return lease


async def test_what_became_of_the_pages_of_a_site_is_counted_with_their_end_and_once(store: Store) -> None:
    await a_day_at_the_site(store)
    found = await store.sites.statistics("a.test")
    assert found is not None
    assert (found.done, found.failed, found.skipped) == (2, {"timeout": 1}, {"noindex": 1})
    assert (found.retried, found.size) == ({"network": 1}, 20)
    assert found.mean_ms == 200.0
    assert found.error_rate == pytest.approx(1 / 3)
    assert await store.sites.statistics("b.test") is None


async def test_they_take_no_more_room_for_more_pages(store: Store, sql: Sql) -> None:
    run_id, _ = await store.crawls.add(a_run(kind="crawl"), CREATED, [url(number) for number in range(50)])
    lease = await claim_run(store, run_id)
    for _ in range(5):
        items = (await ask(store, lease, BatchReport((), (), 10))).items
        await ask(store, lease, BatchReport(tuple(done(each) for each in items), (), 0))
    assert sql("SELECT host, state, pages, size FROM site_statistics") == [("a.test", "done", 50, 500)]


async def test_they_outlive_the_crawl_and_add_up(store: Store, sql: Sql) -> None:
    for _ in range(2):
        await an_old_crawl(store, sql)
        await a_day_at_the_site(store)
    before = await store.sites.statistics("a.test")
    assert await store.maintenance.prune(A_DAY) == 2
    await asyncio.gather(*(purge_all(store) for _ in range(3)))
    assert await store.sites.statistics("a.test") == before
    assert before is not None
    assert before.done == 2 * 5
    assert len(sql("SELECT 1 FROM site_statistics WHERE run_id = ''")) == 1
    sql(f"UPDATE site_statistics SET updated_at = {int(datetime.now(UTC).timestamp() * 1000) - 91 * 24 * HOUR_MS}")
    await store.maintenance.prune(Retention())
    assert sql("SELECT count(*) FROM site_statistics WHERE run_id = ''") == [(0,)]


async def test_hosts_are_listed_latest_first_whatever_their_ports(store: Store, sql: Sql) -> None:
    await a_day_at_the_site(store)
    found = url(9)._replace(url="http://b.test:8080/", key="b", host="b.test:8080")
    run_id, _ = await store.crawls.add(a_run(kind="crawl"), CREATED, [found])
    lease = await claim_run(store, run_id)
    [item] = (await first(store, lease)).items
    await ask(store, lease, BatchReport((done(item),), (), 0))
    sql("UPDATE site_statistics SET updated_at = 1 WHERE host = 'a.test'")
    assert [each.host for each in await store.sites.latest_statistics(10)] == ["b.test", "a.test"]
    assert [each.host for each in await store.sites.latest_statistics(1)] == ["b.test"]


# -- load ---------------------------------------------------------------------------------------------


async def test_what_crawls_were_at_long_ago_says_nothing_about_now_and_a_task_that_waits_does(
    store: Store, sql: Sql
) -> None:
    await a_day_at_the_site(store)
    assert (await store.crawls.load(None))[:3] == (1, 2, 1)
    sql(f"UPDATE crawls SET updated_at = updated_at - {HOUR_MS}")
    run_id, _ = await store.crawls.add(a_run(kind="crawl"), CREATED, [url(0)])
    load = await store.crawls.load(None)
    assert load[:3] == (1, 0, 0)
    assert load.waited_s < 30
    sql(f"UPDATE runs SET due_at = due_at - 60000 WHERE id = '{run_id}'")
    assert (await store.crawls.load(None)).waited_s > 59
