"""A crawl that several workers share: whatever they do, each host is with one of them, and every page is read once."""

from pathlib import Path
from typing import Any

import pytest

from corral.domain.crawl.crawl import Bounds, ItemState
from corral.domain.crawl.item import BatchReport, DiscoveredLink, ItemResult
from corral.domain.crawl.sharing import host_key_of_template, host_key_of_url
from corral.domain.runs.run import CRAWL_HELPER, RunAction, RunState
from corral.store.store import Store
from tests.chaos.level import LEVEL
from tests.services.sqlite import migrate
from tests.store.builders import OTHER, check_history, complete, settle
from tests.store.conftest import Sql
from tests.store.sharing import (
    AT_ONCE,
    SHARED,
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


# -- who is asked to help ------------------------------------------------------------------------------


async def test_helpers_are_asked_for_where_there_is_more_than_one_place_to_read(store: Store) -> None:
    crawl = await claim_worker(store, await a_crawl(store, *(page(host, 0) for host in range(10))))
    step = await crawl.step(want=3)
    assert step.helpers == 2, "one for each place beside the crawl's own"
    assert (await crawl.step(want=6)).helpers == 0, "those that were asked for come first"


@pytest.mark.parametrize(
    "seeds, bounds",
    [
        ([page(0, number) for number in range(10)], SHARED),
        ([page(0, 0), page(0, 1, www="www."), page(0, 2)], SHARED),
        ([page(host, 0) for host in range(10)], SHARED._replace(workers=1)),
        ([page(host, 0) for host in range(10)], SHARED._replace(pages_each=100)),
        ([page(host, 0) for host in range(10)], Bounds()),
        ([page(host, 0) for host in range(10)], SHARED._replace(max_pages=5)),
    ],
    ids=["one host", "one host with and without www", "alone", "not worth it", "nothing said", "beyond the budget"],
)
async def test_nobody_is_asked_for_without_need(store: Store, seeds: list[DiscoveredLink], bounds: Bounds) -> None:
    crawl = await claim_worker(store, await a_crawl(store, *seeds), bounds)
    step = await crawl.step(want=5)
    assert (step.helpers, step.is_shared) == (0, False)
    assert await store.crawls.claim_helpers(OTHER, 10, 10) == []


async def test_a_helper_is_nobodys_run(store: Store) -> None:
    crawl, helper = await share_crawl(store)
    assert helper.lease.run.parent_id == crawl.lease.run_id
    assert [run.id for run in await store.runs.newest(None, None, None, 10)] == [crawl.lease.run_id]
    assert [run.id for run in await store.runs.newest(None, RunState.RUNNING, None, 10)] == [crawl.lease.run_id]
    assert await store.runs.count_live() == {"held": 0, "queued": 0, "running": 1}
    await store.runs.release([helper.lease], "shutdown")
    assert await store.runs.count_live() == {"held": 0, "queued": 0, "running": 1}
    http, *_ = await store.runs.count_queues()
    assert (http.running, http.due, http.oldest_s) == (1, 0, None), "and it waits in no queue"
    assert [run.id for run, _ in await store.crawls.newest(None, 10)] == [crawl.lease.run_id]


async def test_a_helper_is_claimed_apart(store: Store) -> None:
    crawl = await claim_worker(store, await a_crawl(store, page(0, 0), page(1, 0), page(2, 0)))
    assert (await crawl.step(want=2)).helpers == 1
    assert await store.runs.claim(OTHER, 10, 10) == []
    assert await store.crawls.claim_helpers(OTHER, 10, 10, crawl="another") == []
    [lease] = await store.crawls.claim_helpers(OTHER, 10, 10, crawl=crawl.lease.run_id)
    assert lease.run.kind == CRAWL_HELPER


# -- what each of them gets ------------------------------------------------------------------------------


async def test_each_place_is_with_one_of_them(store: Store, sql: Sql) -> None:
    crawl, helper = await share_crawl(store)
    assert crawl.places
    assert helper.places
    assert not crawl.places & helper.places
    assert crawl.heard is not None
    assert crawl.heard.is_shared
    check(sql, crawl.lease.run_id, (await store.crawls.get(crawl.lease.run_id)).counts)


async def test_what_a_helper_finds_at_home_stays_with_it(store: Store, sql: Sql) -> None:
    crawl, helper = await share_crawl(store)
    item = next(iter(helper.held.values()))
    own, other = (int(host_key_of_url(each.url)[1]) for each in (item, next(iter(crawl.held.values()))))
    await helper.step(done(item, page(own, 900, 2), page(other, 900, 2)), want=0)
    shares: dict[str, int] = dict(sql("SELECT host, helper FROM items WHERE url LIKE '%/900'"))
    assert shares == {f"h{own}.test": 1, f"h{other}.test": 0}


async def test_they_never_read_more_at_once_than_the_plan_says(store: Store) -> None:
    crawl = await claim_worker(store, await a_crawl(store, *(page(host, 0) for host in range(20))))
    await crawl.step(want=5)
    three = await helpers(store, 3)
    for helper in three:
        assert (await helper.step()).at_once == 0, "the crawl may still be reading as many as it could"
    under_way = crawl.at_once
    for _ in range(4):
        await crawl.step()
        for helper in three:
            await helper.step()
        assert under_way + sum(helper.at_once for helper in three) <= AT_ONCE
        under_way = crawl.at_once
    assert [crawl.at_once, *(helper.at_once for helper in three)] == [3, 1, 1, 1]


async def test_nothing_deeper_is_handed_out_before_all_that_is_nearer_is_read(store: Store) -> None:
    crawl, helper = await share_crawl(store, hosts=4, pages=12)
    near = next(iter(crawl.held.values()))
    for _ in range(30):
        ended = [done(each, page(7, each.id, 2)) for each in helper.held.values()]
        await helper.step(*ended)
        rest = [done(each) for each in crawl.held.values() if each is not near]
        await crawl.step(*rest)
    assert [*crawl.held.values()] == [near]
    assert not helper.held
    assert crawl.heard is not None
    assert crawl.heard.counts.pending > 0
    await crawl.step(done(near))
    await helper.step()
    assert {item.depth for each in (crawl, helper) for item in each.held.values()} == {2}


async def test_budgets_are_for_all_of_them_together(store: Store, sql: Sql) -> None:
    crawl, helper = await share_crawl(store, hosts=4, pages=30, max_pages=40, max_per_host=12)
    for _ in range(60):
        await crawl.step(*(done(each) for each in crawl.held.values()))
        await helper.step(*(done(each) for each in helper.held.values()))
    assert crawl.heard is not None
    assert crawl.heard.counts.done == 40
    assert max(count for (count,) in sql("SELECT count(*) FROM items WHERE state = 'done' GROUP BY host")) <= 12


# -- what was learned of templates ------------------------------------------------------------------------


TALLY = [1, 2, 3, 4, 15, [], []]


async def test_what_is_known_of_a_place_goes_with_it_and_comes_back(store: Store, sql: Sql) -> None:
    crawl = await claim_worker(
        store, await a_crawl(store, *(page(host, 0) for host in range(4))), SHARED._replace(workers=2)
    )
    names = {f"h{host}.test/{{n}}": TALLY for host in range(4)}
    held = [page(host, 50)._replace(reason="no_new_content", message=f"h{host}.test/{{n}}") for host in range(4)]
    await crawl.step(want=2)
    first, *_ = crawl.held.values()
    crawl.traps = {"begins": True, "tallies": names, "endless": []}
    more = [page(host, number) for host in range(4) for number in range(1, 20)]
    step = await crawl.step(done(first, *held, *more), want=2)
    assert step.traps is not None
    assert {name for name, *_ in step.traps["templates"]} == set(names)
    [helper] = await helpers(store, 1, crawl.bounds)
    helper.traps = {"begins": True, "tallies": {}, "endless": []}
    step = await helper.step()
    assert step.traps == {"templates": []}, "it begins with nothing"
    gone: list[str] = []
    come: dict[str, Any] = {"templates": []}
    while not come["templates"]:
        step = await crawl.step(*(done(each) for each in list(crawl.held.values())[:1]))
        gone += (step.traps or {}).get("gone", [])
        step = await helper.step()
        come = (step.traps or {}).get("come") or come
    assert {host_key_of_template(name) for name, *_ in come["templates"]} == set(gone)
    assert all(tally == TALLY for _, *tally in come["templates"])
    assert helper.places <= set(gone)
    # What proves to be a trap at the helper is refused for all.
    name = come["templates"][0][0]
    helper.traps = {"begins": False, "tallies": {name: [9, *TALLY[1:]]}, "endless": [name]}
    await helper.step(want=0)
    assert sql(f"SELECT state FROM items WHERE url_key = '{name.partition('/')[0]}/50'") == [("skipped",)]
    await helper.step(want=0, is_last=True)
    assert await settle(store, complete(helper.lease))
    step = await crawl.step(want=0)
    assert step.traps is not None
    assert {each: tally for each, *tally in step.traps["come"]["templates"]}[name] == [9, *TALLY[1:]]


async def test_who_takes_a_crawl_up_again_knows_nothing_of_what_others_have(store: Store) -> None:
    crawl, helper = await share_crawl(store)
    crawl.traps = {"begins": True, "tallies": {f"h{host}.test/{{n}}": TALLY for host in range(4)}, "endless": []}
    step = await crawl.step(want=0)
    assert step.traps is not None
    known = {host_key_of_template(name) for name, *_ in step.traps["templates"]}
    assert helper.places
    assert not known & helper.places
    assert crawl.places <= known


# -- how it ends -----------------------------------------------------------------------------------------


async def test_a_crawl_is_not_over_while_a_helper_is_at_it(store: Store) -> None:
    crawl, helper = await share_crawl(store, hosts=2, pages=20)
    while crawl.held:
        await crawl.step(*(done(each) for each in crawl.held.values()))
    assert crawl.heard is not None
    assert crawl.heard.next_due_s is not None
    assert helper.held
    while helper.held:
        await helper.step(*(done(each) for each in helper.held.values()))
    assert (await crawl.step()).next_due_s is not None, "it has not said that this was all"
    await helper.step()
    assert (await crawl.step()).next_due_s is None


async def test_with_the_crawl_all_helpers_end(store: Store, sql: Sql) -> None:
    crawl, helper = await share_crawl(store)
    crawl.held.clear()
    step = await crawl.step(want=0, is_last=True)
    assert step.counts.leased == 0
    report = BatchReport(tuple(done(each) for each in helper.held.values()), (), 5)
    assert await store.crawls.step(helper.lease, report, SHARED) is None
    assert (await store.runs.get(helper.lease.run_id)).state is RunState.COMPLETED
    assert await settle(store, complete(crawl.lease))
    check(sql, crawl.lease.run_id, step.counts)
    for run_id in (crawl.lease.run_id, helper.lease.run_id):
        await check_history(store, run_id)


@pytest.mark.parametrize("move", [RunAction.CANCEL, RunAction.PAUSE])
async def test_a_helper_of_a_crawl_that_was_stopped_writes_nothing(store: Store, move: RunAction) -> None:
    crawl, helper = await share_crawl(store)
    before = (await store.crawls.get(crawl.lease.run_id)).counts
    await store.runs.apply_action(crawl.lease.run_id, move)
    report = BatchReport(tuple(done(each) for each in helper.held.values()), (), 5)
    step = await store.crawls.step(helper.lease, report, SHARED)
    assert step is not None
    assert step.is_over
    assert not step.items
    assert (await store.crawls.get(crawl.lease.run_id)).counts == before


async def test_a_paused_crawl_goes_on_with_what_its_helper_had(store: Store, sql: Sql) -> None:
    crawl, helper = await share_crawl(store)
    await store.runs.apply_action(crawl.lease.run_id, RunAction.PAUSE)
    assert await settle(store, complete(helper.lease))
    await store.runs.apply_action(crawl.lease.run_id, RunAction.RESUME)
    again = await claim_worker(store, crawl.lease.run_id, crawl.bounds._replace(workers=1))
    await work_off([again])
    assert sql("SELECT count(*) FROM items WHERE state <> 'done'") == [(0,)]


async def test_the_history_of_a_crawl_says_who_helped(store: Store) -> None:
    crawl, helper = await share_crawl(store)
    helper.held.clear()
    await helper.step(want=0, is_last=True)
    assert await settle(store, complete(helper.lease))
    await crawl.step(want=0)
    told = [event for event in await store.events.of_run(crawl.lease.run_id, 0, 100) if event.kind.startswith("helper")]
    assert [event.message for event in told] == ["Helper joined", "Helper left"]
    assert told[0].meta == {"helper": helper.lease.run_id, "number": 1, "worker": OTHER}
    await check_history(store, crawl.lease.run_id)


async def test_the_times_of_pages_that_helpers_fetched_count_too(store: Store) -> None:
    crawl, helper = await share_crawl(store)
    quick, slow = next(iter(crawl.held.values())), next(iter(helper.held.values()))
    deferred = list(helper.held.values())[1]
    await crawl.step(done(quick)._replace(took_ms=100, requests=1))
    await helper.step(
        done(slow)._replace(took_ms=5_000, requests=1),
        ItemResult(deferred.id, deferred.key, ItemState.PENDING, took_ms=60_000),
    )
    latency = (await crawl.step(want=0, is_last=True)).latency
    assert latency is not None
    assert latency["pages"] == 2, "a page that was never requested does not count"
    assert 100 <= latency["p50_ms"] <= 110
    assert 5_000 <= latency["p99_ms"] <= 5_500
