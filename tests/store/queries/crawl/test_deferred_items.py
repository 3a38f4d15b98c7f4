"""Items that come after all others, and what was learned of their templates."""

from typing import Any

from corral.domain.crawl.crawl import Counts, ItemState
from corral.domain.crawl.item import BatchReport, ItemResult
from corral.store.store import Store
from tests.store.conftest import Sql
from tests.store.queries.crawl.builders import ask, check_counts, claim_run, crawl_of, done, first, url


async def test_what_was_learned_of_templates_is_kept(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store)
    lease = await claim_run(store, run_id)
    await first(store, lease)
    tallies: dict[str, Any] = {"a.test/{n}": [0, 15, [2**64 - 1], [1, 2**33]], "b": [0, 0, [], []]}
    told = {"begins": False, "tallies": tallies, "endless": []}
    step = await ask(store, lease, BatchReport((), (), 0, traps=told))
    assert step.traps == {}
    await ask(store, lease, BatchReport((), (), 0, traps={"begins": False, "tallies": {"b": None}, "endless": []}))

    await store.runs.release([lease], "test")
    lease = await claim_run(store, run_id)
    told = {"begins": True, "tallies": {}, "endless": []}
    step = await ask(store, lease, BatchReport((), (), 10, traps=told))
    assert step.traps == {"templates": [["a.test/{n}", *tallies["a.test/{n}"]]]}


async def test_deferred_items_come_after_all_others_and_in_order(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store)
    lease = await claim_run(store, run_id)
    [start] = (await first(store, lease)).items
    late = [url(number, 1, "no_new_content")._replace(message="a.test/{n}") for number in (1, 2, 3)]
    step = await ask(store, lease, BatchReport((done(start, *late, url(7, 1), url(8, 1)),), (), 1))
    [seven] = step.items
    assert (step.counts.deferred, seven.url) == (3, "http://a.test/7")
    # Put off before it is fetched; while another one is being read that was not, nothing deferred is handed out.
    put_off = ItemResult(seven.id, seven.key, ItemState.DEFERRED, "no_new_content", "a.test/{n}")
    [eight] = (await ask(store, lease, BatchReport((put_off,), (), 5))).items
    assert (await ask(store, lease, BatchReport((), (eight.id,), 5))).items == ()
    step = await ask(store, lease, BatchReport((done(eight, url(9, 2)),), (), 2))
    assert [item.url for item in step.items] == ["http://a.test/9"], "what it led to comes first"
    step = await ask(store, lease, BatchReport((done(step.items[0]),), (), 2))
    assert [(item.url, item.is_deferred) for item in step.items] == [
        ("http://a.test/7", True),
        ("http://a.test/1", True),
    ]
    assert step.items[1].found_on == "http://a.test/0"
    check_counts(sql, run_id, step.counts)
    # Killed now, they are still what they were.
    await store.runs.release([lease], "test")
    lease = await claim_run(store, run_id)
    step = await ask(store, lease, BatchReport((), (), 5))
    assert [(item.url, item.is_deferred) for item in step.items] == [
        ("http://a.test/7", True),
        ("http://a.test/1", True),
    ]
    check_counts(sql, run_id, step.counts)


async def test_deferred_items_of_templates_that_do_not_grow_come_first(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store)
    lease = await claim_run(store, run_id)
    [start] = (await first(store, lease)).items
    names = {1: "grows", 2: "grows more", 3: "drains", 4: "drains", 5: "listed", 6: "grows"}
    late = [url(number, 1, "no_new_content")._replace(message=name) for number, name in names.items()]
    growth = {"grows": 12.0, "grows more": 30.0, "drains": 0.0, "listed": 0.0}
    told = {"begins": False, "tallies": {name: [0] for name in growth}, "growth": growth, "endless": []}
    step = await ask(store, lease, BatchReport((done(start, *late),), (), 5, traps=told))
    assert [item.url[-1] for item in step.items] == ["3", "4", "5"]
    # Of those that grow, no more than are read at once: what they lead to decides what comes next.
    holding = tuple(item.id for item in step.items)
    assert (await ask(store, lease, BatchReport((), holding, 5))).items == ()
    step = await ask(store, lease, BatchReport(tuple(done(item) for item in step.items), (), 5))
    assert [item.url[-1] for item in step.items] == ["1"]
    told = {**told, "growth": {**growth, "grows": 40.0}}
    step = await ask(store, lease, BatchReport((done(step.items[0]),), (), 5, traps=told))
    assert [item.url[-1] for item in step.items] == ["2"], "they take turns"
    step = await ask(store, lease, BatchReport((done(step.items[0]),), (), 5))
    assert [item.url[-1] for item in step.items] == ["6"]
    check_counts(sql, run_id, step.counts)


async def test_a_template_that_proves_to_be_a_trap_is_refused_at_once(store: Store, sql: Sql) -> None:
    run_id = await crawl_of(store)
    lease = await claim_run(store, run_id)
    [start] = (await first(store, lease)).items
    late = [url(number, 1, "no_new_content")._replace(message="a.test/{n}") for number in range(1, 6)]
    other = url(9, 1, "query_variants")._replace(message="a.test/?…")
    step = await ask(store, lease, BatchReport((done(start, *late, other),), (), 0))
    assert step.counts == Counts(done=1, deferred=6)
    told = {"begins": False, "tallies": {}, "endless": ["a.test/{n}"]}
    step = await ask(store, lease, BatchReport((), (), 5, traps=told))
    assert ([item.url for item in step.items], step.counts.skipped) == (["http://a.test/9"], 5)
    check_counts(sql, run_id, step.counts)
    [held] = await store.crawls.trap_groups(run_id)
    assert held == {"reason": "endless_growth", "template": "a.test/{n}", "count": 5, "example": "http://a.test/1"}
