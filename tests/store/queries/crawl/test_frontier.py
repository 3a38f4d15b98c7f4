"""The frontier: whatever happens, every URL is in one state, and the counts say in which."""

import random

import pytest

from corral.domain.crawl.crawl import HOST_BUDGET, Bounds, Counts, ItemState
from corral.domain.crawl.item import BatchReport, DiscoveredLink, Item, ItemResult
from corral.domain.crawl.scope import Refusal
from corral.domain.runs.loss import CRAWL_LOSS_CAP, Blame, Loss, Suspicion
from corral.domain.runs.run import Lease, RunAction, RunState
from corral.store.store import Store
from tests.store.builders import OTHER
from tests.store.conftest import Sql
from tests.store.queries.crawl.builders import ask, check_counts, claim_run, crawl_of, done, first, url


async def test_a_page_its_record_and_its_links_are_written_together(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store)
    lease = await claim_run(store, run_id)
    [start] = (await first(store, lease)).items
    found = (url(1, 1), url(2, 1), url(3, 1, "out_of_scope"), url(0))

    step = await ask(store, lease, BatchReport((done(start, *found),), (), 10))
    assert [item.url for item in step.items] == ["http://a.test/1", "http://a.test/2"]
    assert step.counts == Counts(pending=0, leased=2, done=1, failed=0, skipped=1)
    assert step.size == 10
    assert [record.data for record in await store.records.of_run(run_id, "", 10)] == [{"url": start.url}]
    check_counts(sql, run_id, step.counts)


async def test_nothing_is_written_twice_where_an_end_is_told_twice(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store)
    lease = await claim_run(store, run_id)
    [start] = (await first(store, lease)).items
    report = BatchReport((done(start, url(1, 1)),), (), 0)
    once = await ask(store, lease, report)
    assert await ask(store, lease, report) == once
    check_counts(sql, run_id, once.counts)
    assert len(await store.records.of_run(run_id, "", 10)) == 1


async def test_whoever_lost_the_run_writes_nothing(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store)
    lease = await claim_run(store, run_id)
    [start] = (await first(store, lease)).items
    await store.runs.release([lease], "test")
    report = BatchReport((done(start, url(1, 1)),), (), 10)
    assert await store.crawls.step(lease, report, Bounds()) is None
    assert await store.crawls.step(lease._replace(owner=OTHER), report, Bounds()) is None
    again = await claim_run(store, run_id)
    assert await store.crawls.step(lease, report, Bounds()) is None
    await store.runs.apply_action(run_id, RunAction.CANCEL)
    assert await store.crawls.step(again, report, Bounds()) is None
    assert await store.records.of_run(run_id, "", 10) == []
    assert sql(f"SELECT count(*) FROM items WHERE run_id = '{run_id}'") == [(1,)]


async def test_what_a_dead_process_held_is_given_out_again(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store, seeds=5)
    lease = await claim_run(store, run_id)
    held = (await first(store, lease, 3)).items
    await store.runs.release([lease], "test")

    step = await first(store, await claim_run(store, run_id), 10)
    assert {item.id for item in held} < {item.id for item in step.items}
    assert len(step.items) == 5
    check_counts(sql, run_id, step.counts)


async def test_what_was_handed_out_in_a_lost_answer_is_given_out_again(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store, seeds=5)
    lease = await claim_run(store, run_id)
    held = (await first(store, lease, 2)).items
    await ask(store, lease, BatchReport((), tuple(item.id for item in held), 2))  # nobody hears this answer
    step = await ask(store, lease, BatchReport((), tuple(item.id for item in held), 10))
    assert len(step.items) == 3
    check_counts(sql, run_id, step.counts)


async def test_no_page_is_read_before_those_above_it(store: Store) -> None:
    """Or what it leads to would be judged by a depth that is not its own."""
    run_id = await crawl_of(store, seeds=2)
    lease = await claim_run(store, run_id)
    one, other = (await first(store, lease)).items
    step = await ask(store, lease, BatchReport((done(one, url(10, 1)),), (other.id,), 10))
    assert step.items == ()
    step = await ask(store, lease, BatchReport((done(other),), (), 10))
    assert [item.depth for item in step.items] == [1]


async def test_a_shorter_way_found_late_counts(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store, seeds=2)
    lease = await claim_run(store, run_id)
    one, other = (await first(store, lease)).items
    retried = ItemResult(other.id, other.key, ItemState.PENDING, "timeout:total", due_in_s=0.0)
    step = await ask(store, lease, BatchReport((done(one, url(10, 1)), retried._replace(due_in_s=60)), (), 10))
    [ten] = step.items
    deep = (url(20, 2), url(30, 2, Refusal.TOO_DEEP))
    step = await ask(store, lease, BatchReport((done(ten, *deep),), (), 10))
    [twenty] = step.items
    step = await ask(store, lease, BatchReport((done(twenty),), (), 10))
    assert step.items == ()
    assert step.next_due_s is not None
    sql(f"UPDATE items SET due_at = 1 WHERE id = {other.id}")

    [late] = (await ask(store, lease, BatchReport((), (), 10))).items
    assert late.attempt == 2
    shorter = (url(20, 1), url(30, 1))
    step = await ask(store, lease, BatchReport((done(late, *shorter, is_late=True),), (), 10))
    assert {(item.url[-2:], item.depth) for item in step.items} == {("20", 1), ("30", 1)}
    check_counts(sql, run_id, step.counts)
    step = await ask(store, lease, BatchReport(tuple(done(item) for item in step.items), (), 10))
    assert step.counts.done == 5
    assert len(await store.records.of_run(run_id, "", 10)) == 5


async def test_no_more_pages_than_allowed_are_handed_out(store: Store) -> None:
    run_id = await crawl_of(store, seeds=5)
    lease = await claim_run(store, run_id)
    step = await ask(store, lease, BatchReport((), (), 10), max_pages=3)
    assert len(step.items) == 3
    step = await ask(store, lease, BatchReport(tuple(map(done, step.items)), (), 10), max_pages=3)
    assert (step.items, step.counts.done, step.counts.pending) == ((), 3, 2)


@pytest.mark.parametrize("seed", range(5))
async def test_killed_at_any_step_a_crawl_ends_as_if_it_had_not_been(store: Store, sql: Sql, seed: int) -> None:
    dice = random.Random(seed)
    pages = 60
    leads_to = {number: dice.sample(range(pages), 4) for number in range(pages)}
    reachable, edge = {0}, {0}
    while edge:
        edge = {each for number in edge for each in leads_to[number]} - reachable
        reachable |= edge
    run_id = await crawl_of(store)
    lease = await claim_run(store, run_id)
    held: dict[int, Item] = {}
    while True:
        if dice.random() < 0.15:
            await store.runs.release([lease], "test")
            lease = await claim_run(store, run_id)
            held = {}
        ending = dice.sample(list(held.values()), dice.randint(0, len(held)))
        ended = []
        for item in ending:
            del held[item.id]
            found = [url(number, item.depth + 1) for number in leads_to[int(item.url.rpartition("/")[2])]]
            ended.append(done(item, *found))
        step = await ask(store, lease, BatchReport(tuple(ended), tuple(held), dice.randint(1, 6)))
        held |= {item.id: item for item in step.items}
        check_counts(sql, run_id, step.counts)
        if not held and not step.items and not step.counts.pending:
            break
    records = [record.data["url"] for record in await store.records.of_run(run_id, "", 100)]
    assert sorted(records) == sorted(f"http://a.test/{number}" for number in reachable)


async def test_the_doctor_counts_again(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store, seeds=3)
    assert await store.maintenance.audit() == []
    sql(f"UPDATE crawls SET pending = 4 WHERE run_id = '{run_id}'")
    [found] = await store.maintenance.audit()
    assert (found.rule, found.subject) == ("a crawl knows its items", run_id)


async def test_a_link_that_one_page_does_not_want_followed_and_another_does_is_followed(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store, seeds=2)
    lease = await claim_run(store, run_id)
    one, other = (await first(store, lease)).items
    await ask(store, lease, BatchReport((done(one, url(9, 1, Refusal.NOFOLLOW)),), (other.id,), 0))
    step = await ask(store, lease, BatchReport((done(other, url(9, 1)),), (), 10))
    assert [item.url for item in step.items] == ["http://a.test/9"]
    check_counts(sql, run_id, step.counts)


async def test_of_one_host_no_more_pages_are_handed_out_than_allowed(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store)
    lease = await claim_run(store, run_id)
    [start] = (await ask(store, lease, BatchReport((), (), 10), max_per_host=3)).items
    other = DiscoveredLink("http://b.test/", "key-b", "b.test", 1, rank=1.0)
    found = (*(url(number, 1) for number in range(1, 6)), other)
    step = await ask(store, lease, BatchReport((done(start, *found),), (), 10), max_per_host=3)
    assert [item.url for item in step.items] == ["http://a.test/1", "http://a.test/2", "http://b.test/"]
    assert step.counts == Counts(leased=3, done=1, skipped=3)
    check_counts(sql, run_id, step.counts)
    # Given back and taken again, they are counted once; one that is tried again is not counted again.
    await store.runs.release([lease], "test")
    lease = await claim_run(store, run_id)
    step = await ask(store, lease, BatchReport((), (), 10), max_per_host=3)
    one, two, b = step.items
    again = ItemResult(one.id, one.key, ItemState.PENDING, "timeout:total")
    step = await ask(store, lease, BatchReport((again, done(b, url(9, 2))), (two.id,), 10), max_per_host=3)
    assert [(item.id, item.attempt) for item in step.items] == [(one.id, 2)]
    step = await ask(store, lease, BatchReport((done(two), done(one)), (), 10), max_per_host=3)
    assert (step.items, step.next_due_s) == ((), 0.0)
    assert sql(f"SELECT count(*) FROM items WHERE run_id = '{run_id}' AND reason = '{HOST_BUDGET}'") == [(4,)]
    check_counts(sql, run_id, step.counts)


async def test_no_page_is_handed_out_once_the_bytes_are_used_up(store: Store) -> None:
    run_id = await crawl_of(store, seeds=5)
    lease = await claim_run(store, run_id)
    one, two = (await ask(store, lease, BatchReport((), (), 2), max_bytes=20)).items
    step = await ask(store, lease, BatchReport((done(one),), (two.id,), 1), max_bytes=20)
    [three] = step.items
    step = await ask(store, lease, BatchReport((done(two),), (three.id,), 5), max_bytes=20)
    assert (step.items, step.size, step.counts.done, step.counts.pending) == ((), 20, 2, 2)


def dead(lease: Lease, blame: Blame = Blame.CERTAIN) -> Loss:
    return Loss(lease, blame, "killed by SIGSEGV")


async def test_what_a_dead_worker_held_is_tried_apart_and_the_third_loss_is_its_own(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store, seeds=10)
    killer = "key-7"
    tried: list[int] = []
    lease = await claim_run(store, run_id)
    step = await first(store, lease, 30)
    for _ in range(30):
        if killer in {item.key for item in step.items}:
            tried.append(len(step.items))
            assert await store.runs.lose([dead(lease)]) == 1
            lease = await claim_run(store, run_id)
            step = await first(store, lease, 30)
        elif step.items:
            step = await ask(store, lease, BatchReport(tuple(map(done, step.items)), (), 30))
        else:
            break
        check_counts(sql, run_id, step.counts)
    assert tried == [10, 4, 1]
    assert step.counts == Counts(done=9, failed=1)
    [failed] = await store.crawls.items(run_id, ItemState.FAILED, 0, 10)
    assert (failed.url, failed.reason) == ("http://a.test/7", "worker_lost:poison")
    assert sql(f"SELECT suspects FROM crawls WHERE run_id = '{run_id}'") == [(0,)]
    assert (await store.runs.get(run_id)).losses == 0, "the page was to blame"


async def test_nobody_is_blamed_for_the_end_of_a_node_or_for_other_runs(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store)
    for _ in range(2):
        lease = await claim_run(store, run_id)
        await first(store, lease)
        await store.runs.lose([dead(lease, Blame.NONE)])
    assert sql(f"SELECT losses FROM items WHERE run_id = '{run_id}'") == [(0,)]
    for _ in range(5):
        lease = await claim_run(store, run_id)
        await first(store, lease)
        await store.runs.lose([dead(lease, Blame.SUSPECTED)])
    assert sql(f"SELECT losses, state FROM items WHERE run_id = '{run_id}'") == [(2, "leased")]
    assert (await store.runs.get(run_id)).suspect == Suspicion.ALONE


async def test_a_crawl_outlives_many_losses_and_not_endlessly_many_in_a_row(store: Store) -> None:
    run_id = await crawl_of(store, seeds=2)
    cap = CRAWL_LOSS_CAP

    async def lose(*, lands: bool = False, blame: Blame = Blame.CERTAIN) -> RunState:
        lease = await claim_run(store, run_id)
        if lands:
            [item] = (await first(store, lease, 1)).items
            await ask(store, lease, BatchReport((done(item),), (), 0))
        await store.runs.lose([dead(lease, blame)])
        return (await store.runs.get(run_id)).state

    assert {await lose(blame=Blame.NONE) for _ in range(3)} == {RunState.QUEUED}
    states = [await lose(lands=number == cap - 1) for number in range(2 * cap - 2)]
    assert set(states) == {RunState.QUEUED}
    assert await lose() is RunState.HELD
    assert (await store.runs.get(run_id)).failure_detail == "poison"


async def test_an_item_of_which_more_will_be_told_stays_leased_and_too_much_is_counted(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store)
    lease = await claim_run(store, run_id)
    [start] = (await first(store, lease)).items
    part = ItemResult(start.id, start.key, ItemState.LEASED, found=(url(1, 1), url(2, 1)))
    step = await ask(store, lease, BatchReport((part,), (start.id,), 0), max_items=4)
    assert step.counts == Counts(pending=2, leased=1)
    rest = done(start, url(3, 1), url(4, 1), url(5, 1), dropped=7)
    step = await ask(store, lease, BatchReport((rest,), (), 0), max_items=4)
    assert (step.counts, step.dropped) == (Counts(pending=3, done=1), 9)
    check_counts(sql, run_id, step.counts)


async def test_a_link_to_a_known_address_or_out_of_the_crawl_is_not_lost_for_lack_of_room(
    store: Store, sql: Sql
) -> None:
    run_id = await crawl_of(store)
    lease = await claim_run(store, run_id)
    [start] = (await first(store, lease)).items
    part = ItemResult(start.id, start.key, ItemState.LEASED, found=(url(1, 1), url(2, 1)))
    await ask(store, lease, BatchReport((part,), (start.id,), 0), max_items=4)
    refused = url(6, 1)._replace(reason="out_of_scope")
    rest = done(start, url(1, 1), url(2, 1), url(3, 1), url(3, 1), url(4, 1), url(4, 1), refused)
    step = await ask(store, lease, BatchReport((rest,), (), 0), max_items=4)
    assert (step.counts, step.dropped) == (Counts(pending=3, done=1), 1)
    check_counts(sql, run_id, step.counts)


async def test_a_page_that_turns_out_to_lie_nearer_while_it_is_read_is_read_again(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store, seeds=2)
    lease = await claim_run(store, run_id)
    one, other = (await ask(store, lease, BatchReport((), (), 10), by_depth=False)).items
    step = await ask(store, lease, BatchReport((done(one, url(5, 3)),), (other.id,), 10), by_depth=False)
    [five] = step.items
    await ask(store, lease, BatchReport((done(other, url(5, 1), is_late=True),), (five.id,), 0), by_depth=False)
    step = await ask(store, lease, BatchReport((done(five, depth=3, is_late=True),), (), 10), by_depth=False)
    assert [(item.id, item.depth) for item in step.items] == [(five.id, 1)]
    check_counts(sql, run_id, step.counts)
    step = await ask(store, lease, BatchReport((done(five, depth=1, is_late=True),), (), 10), by_depth=False)
    assert (step.items, step.counts) == ((), Counts(done=3))
