"""A crawl that several workers share: whatever they do, each host is with one of them, and every page is read once."""

import random
from collections import Counter
from typing import Any

import psycopg
import pytest

from corral.domain.crawl import Bounds, Counts, ItemState
from corral.domain.ids import Owner
from corral.domain.item import Ended, Found, Item, Report, Step
from corral.domain.run import SHARE, Lease, Move, RunState
from corral.domain.settlement import Loss
from corral.domain.share import place_in, place_of_template
from corral.store.open import open_store
from corral.store.store import Store
from tests.chaos.level import LEVEL, by_level
from tests.store.build import CREATED, ME, OTHER, a_run, check_history, completed
from tests.store.conftest import Sql

AT_ONCE = 6
SHARED = Bounds(workers=4, concurrency=AT_ONCE)


def page(host: int, number: int, depth: int = 1, *, www: str = "") -> Found:
    name = f"{www}h{host}.test"
    return Found(f"http://{name}/{number}", f"{name}/{number}", name, depth, None, float(depth))


def done(item: Item, *found: Found) -> Ended:
    return Ended(item.id, item.key, ItemState.DONE, record={"url": item.url}, found=found, size=10)


@pytest.fixture(params=("memory", "postgres") if LEVEL else ("memory",))
def url(request: pytest.FixtureRequest) -> str:
    """One database for most of this; the other one for what tries all of it together."""
    return "sqlite://" if request.param == "memory" else str(request.getfixturevalue("postgres_url"))


class Worker:
    """As engine.kinds.crawl does it, one thing at a time."""

    def __init__(self, store: Store, lease: Lease, bounds: Bounds = SHARED) -> None:
        self.store = store
        self.lease = lease
        self.bounds = bounds
        self.held: dict[int, Item] = {}
        self.at_once = 0
        self.is_done = False
        self.heard: Step | None = None
        self.traps: dict[str, Any] | None = None  # what it tells once

    async def step(self, *ended: Ended, want: int | None = None, is_last: bool = False) -> Step:
        for each in ended:
            self.held.pop(each.id, None)
        if want is None:
            want = 3 * (self.at_once or (0 if self.lease.run.kind == SHARE else AT_ONCE)) - len(self.held)
        report = Report(tuple(ended), tuple(self.held), max(0, want), is_last, self.traps, self.at_once, self.is_done)
        self.traps = None
        step = await self.store.crawl_step(self.lease, report, self.bounds)
        assert step is not None, "the lease is ours"
        self.heard = step
        self.at_once = AT_ONCE if step.at_once is None else step.at_once
        self.held |= {item.id: item for item in step.items}
        self.is_done = not self.held and want > 0 and step.next_due_s is None
        return step

    @property
    def places(self) -> set[str]:
        return {place_in(item.url) for item in self.held.values()}


async def a_crawl(store: Store, *seeds: Found) -> str:
    run = a_run(kind="crawl", max_attempts=1, payload={"url": "http://h0.test/", "crawl": {}})
    run_id, _ = await store.add_crawl(run, CREATED, [each._replace(depth=0, rank=0.0) for each in seeds])
    return run_id


async def claimed(store: Store, run_id: str, bounds: Bounds = SHARED) -> Worker:
    [lease] = await store.claim_one(run_id, ME, 10)
    return Worker(store, lease, bounds)


async def helpers(store: Store, count: int, bounds: Bounds = SHARED, owner: Owner = OTHER) -> list[Worker]:
    found = [Worker(store, lease, bounds) for lease in await store.claim_helpers(owner, count, 10)]
    assert len(found) == count
    return found


async def shared(store: Store, hosts: int = 4, pages: int = 30, **changed: Any) -> tuple[Worker, Worker]:
    """A crawl and one that helps with it, each with something to do."""
    bounds = SHARED._replace(workers=2, **changed)
    crawl = await claimed(store, await a_crawl(store, *(page(host, 0) for host in range(hosts))), bounds)
    step = await crawl.step()
    found = [page(host, number) for number in range(1, pages) for host in range(hosts)]
    assert step.helpers == 0, "there is nothing left for others to do"
    [first, *others] = step.items
    await crawl.step(done(first, *found), *(done(each) for each in others), want=0)
    step = await crawl.step(want=2)
    assert step.helpers == 1
    [helper] = await helpers(store, 1, bounds)
    await helper.step()
    for _ in range(20):
        if helper.held and crawl.held:
            return crawl, helper
        ended = [done(each) for each in list(crawl.held.values())[:2]]
        await crawl.step(*ended)
        await helper.step()
    raise AssertionError("the helper got nothing")


def check(sql: Sql, crawl: str, counts: Counts, most: int = AT_ONCE) -> None:
    found: Counter[str] = Counter(
        dict(sql(f"SELECT state, count(*) FROM items WHERE run_id = '{crawl}' GROUP BY state"))
    )
    assert {name: found[name] for name in counts._fields} == counts._asdict()
    at = Counter(host for host, _ in sql(f"SELECT DISTINCT host, share FROM items WHERE {_leased(crawl)}"))
    assert not [host for host, count in at.items() if count > 1], "a host is with one worker at a time"
    [(granted,)] = sql(f"SELECT coalesce(sum(at_once), 0) FROM crawl_shares WHERE run_id = '{crawl}'")
    assert granted <= most


def _leased(crawl: str) -> str:
    return f"run_id = '{crawl}' AND state = 'leased'"


# -- who is asked to help ------------------------------------------------------------------------------


async def test_helpers_are_asked_for_where_there_is_more_than_one_place_to_read(store: Store) -> None:
    crawl = await claimed(store, await a_crawl(store, *(page(host, 0) for host in range(10))))
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
async def test_nobody_is_asked_for_without_need(store: Store, seeds: list[Found], bounds: Bounds) -> None:
    crawl = await claimed(store, await a_crawl(store, *seeds), bounds)
    step = await crawl.step(want=5)
    assert (step.helpers, step.is_shared) == (0, False)
    assert await store.claim_helpers(OTHER, 10, 10) == []


async def test_a_helper_is_nobodys_run(store: Store) -> None:
    crawl, helper = await shared(store)
    assert helper.lease.run.parent_id == crawl.lease.run_id
    assert [run.id for run in await store.newest_runs(None, None, None, 10)] == [crawl.lease.run_id]
    assert [run.id for run in await store.newest_runs(None, RunState.RUNNING, None, 10)] == [crawl.lease.run_id]
    assert await store.count_live() == {"held": 0, "queued": 0, "running": 1}
    assert [run.id for run, _ in await store.newest_crawls(None, 10)] == [crawl.lease.run_id]


async def test_a_helper_is_claimed_apart(store: Store) -> None:
    crawl = await claimed(store, await a_crawl(store, page(0, 0), page(1, 0), page(2, 0)))
    assert (await crawl.step(want=2)).helpers == 1
    assert await store.claim(OTHER, 10, 10) == []
    assert await store.claim_helpers(OTHER, 10, 10, crawl="another") == []
    [lease] = await store.claim_helpers(OTHER, 10, 10, crawl=crawl.lease.run_id)
    assert lease.run.kind == SHARE


# -- what each of them gets ------------------------------------------------------------------------------


async def test_each_place_is_with_one_of_them(store: Store, sql: Sql) -> None:
    crawl, helper = await shared(store)
    assert crawl.places
    assert helper.places
    assert not crawl.places & helper.places
    assert crawl.heard is not None
    assert crawl.heard.is_shared
    check(sql, crawl.lease.run_id, (await store.crawl_now(crawl.lease.run_id)).counts)


async def test_what_a_helper_finds_at_home_stays_with_it(store: Store, sql: Sql) -> None:
    crawl, helper = await shared(store)
    item = next(iter(helper.held.values()))
    own, other = (int(place_in(each.url)[1]) for each in (item, next(iter(crawl.held.values()))))
    await helper.step(done(item, page(own, 900, 2), page(other, 900, 2)), want=0)
    shares: dict[str, int] = dict(sql("SELECT host, share FROM items WHERE url LIKE '%/900'"))
    assert shares == {f"h{own}.test": 1, f"h{other}.test": 0}


async def test_they_never_read_more_at_once_than_the_plan_says(store: Store) -> None:
    crawl = await claimed(store, await a_crawl(store, *(page(host, 0) for host in range(20))))
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
    crawl, helper = await shared(store, hosts=4, pages=12)
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
    crawl, helper = await shared(store, hosts=4, pages=30, max_pages=40, max_per_host=12)
    for _ in range(60):
        await crawl.step(*(done(each) for each in crawl.held.values()))
        await helper.step(*(done(each) for each in helper.held.values()))
    assert crawl.heard is not None
    assert crawl.heard.counts.done == 40
    assert max(count for (count,) in sql("SELECT count(*) FROM items WHERE state = 'done' GROUP BY host")) <= 12


# -- what was learned of templates ------------------------------------------------------------------------


TALLY = [1, 2, 3, 4, 15, [], []]


async def test_what_is_known_of_a_place_goes_with_it_and_comes_back(store: Store, sql: Sql) -> None:
    crawl = await claimed(
        store, await a_crawl(store, *(page(host, 0) for host in range(4))), SHARED._replace(workers=2)
    )
    names = {f"h{host}.test/{{n}}": TALLY for host in range(4)}
    held = [page(host, 50)._replace(reason="no_new_content", message=f"h{host}.test/{{n}}") for host in range(4)]
    await crawl.step(want=2)
    first, *_ = crawl.held.values()
    crawl.traps = {"begins": True, "tallies": names, "lifts": []}
    more = [page(host, number) for host in range(4) for number in range(1, 20)]
    step = await crawl.step(done(first, *held, *more), want=2)
    assert step.traps is not None
    assert {name for name, *_ in step.traps["templates"]} == set(names)
    [helper] = await helpers(store, 1, crawl.bounds)
    helper.traps = {"begins": True, "tallies": {}, "lifts": []}
    step = await helper.step()
    assert step.traps == {"lifted": [], "templates": [], "held": []}, "it begins with nothing"
    gone: list[str] = []
    come: dict[str, Any] = {"templates": [], "held": []}
    while not come["templates"]:
        step = await crawl.step(*(done(each) for each in list(crawl.held.values())[:1]))
        gone += (step.traps or {}).get("gone", [])
        step = await helper.step()
        come = (step.traps or {}).get("come") or come
    assert {place_of_template(name) for name, *_ in come["templates"]} == set(gone)
    assert all(tally == TALLY for _, *tally in come["templates"])
    assert {name for _, name in come["held"]} == {name for name, *_ in come["templates"]}
    assert helper.places <= set(gone)
    # What the helper has held back comes back to it.
    [(reason, name), *_] = come["held"]
    helper.traps = {"begins": False, "tallies": {name: [9, *TALLY[1:]]}, "lifts": [[reason, name, 25]]}
    step = await helper.step(want=0)
    assert step.traps is not None
    assert step.traps["lifted"] == [1]
    assert sql(f"SELECT share FROM items WHERE url_key = '{name.partition('/')[0]}/50'") == [(1,)]
    await helper.step(want=0, is_last=True)
    assert await store.settle(completed(helper.lease))
    step = await crawl.step(want=0)
    assert step.traps is not None
    assert {each: tally for each, *tally in step.traps["come"]["templates"]}[name] == [9, *TALLY[1:]]


async def test_who_takes_a_crawl_up_again_knows_nothing_of_what_others_have(store: Store) -> None:
    crawl, helper = await shared(store)
    crawl.traps = {"begins": True, "tallies": {f"h{host}.test/{{n}}": TALLY for host in range(4)}, "lifts": []}
    step = await crawl.step(want=0)
    assert step.traps is not None
    known = {place_of_template(name) for name, *_ in step.traps["templates"]}
    assert helper.places
    assert not known & helper.places
    assert crawl.places <= known


# -- how it ends -----------------------------------------------------------------------------------------


async def test_a_crawl_is_not_over_while_a_helper_is_at_it(store: Store) -> None:
    crawl, helper = await shared(store, hosts=2, pages=20)
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
    crawl, helper = await shared(store)
    crawl.held.clear()
    step = await crawl.step(want=0, is_last=True)
    assert step.counts.leased == 0
    report = Report(tuple(done(each) for each in helper.held.values()), (), 5)
    assert await store.crawl_step(helper.lease, report, SHARED) is None
    assert (await store.run(helper.lease.run_id)).state is RunState.COMPLETED
    assert await store.settle(completed(crawl.lease))
    check(sql, crawl.lease.run_id, step.counts)
    for run_id in (crawl.lease.run_id, helper.lease.run_id):
        await check_history(store, run_id)


@pytest.mark.parametrize("move", [Move.CANCEL, Move.PAUSE])
async def test_a_helper_of_a_crawl_that_was_stopped_writes_nothing(store: Store, move: Move) -> None:
    crawl, helper = await shared(store)
    before = (await store.crawl_now(crawl.lease.run_id)).counts
    await store.move(crawl.lease.run_id, move)
    report = Report(tuple(done(each) for each in helper.held.values()), (), 5)
    step = await store.crawl_step(helper.lease, report, SHARED)
    assert step is not None
    assert step.is_over
    assert not step.items
    assert (await store.crawl_now(crawl.lease.run_id)).counts == before


async def test_a_paused_crawl_goes_on_with_what_its_helper_had(store: Store, sql: Sql) -> None:
    crawl, helper = await shared(store)
    await store.move(crawl.lease.run_id, Move.PAUSE)
    assert await store.settle(completed(helper.lease))
    await store.move(crawl.lease.run_id, Move.RESUME)
    again = await claimed(store, crawl.lease.run_id, crawl.bounds._replace(workers=1))
    await worked_off([again])
    assert sql("SELECT count(*) FROM items WHERE state <> 'done'") == [(0,)]


async def test_the_history_of_a_crawl_says_who_helped(store: Store) -> None:
    crawl, helper = await shared(store)
    helper.held.clear()
    await helper.step(want=0, is_last=True)
    assert await store.settle(completed(helper.lease))
    await crawl.step(want=0)
    told = [event for event in await store.events_of(crawl.lease.run_id, 0, 100) if event.kind.startswith("helper")]
    assert [event.message for event in told] == ["Helper joined", "Helper left"]
    assert told[0].meta == {"helper": helper.lease.run_id, "share": 1, "worker": OTHER}
    await check_history(store, crawl.lease.run_id)


# -- who dies ----------------------------------------------------------------------------------------------


async def worked_off(workers: list[Worker]) -> None:
    """Until none of them has anything left to do."""
    for _ in range(500):
        for worker in workers:
            await worker.step(*(done(each) for each in list(worker.held.values())))
        if all(worker.is_done for worker in workers):
            return
    raise AssertionError("it never ends")


async def test_what_a_dead_helper_held_is_read_by_others(store: Store, sql: Sql) -> None:
    crawl, helper = await shared(store)
    lost = set(helper.held)
    await store.lose([Loss(helper.lease, alone=True, exit_status="killed", stderr_tail="", witnessed=False)])
    assert await store.crawl_step(helper.lease, Report((), tuple(lost), 5), SHARED) is None
    await worked_off([crawl])
    assert sql("SELECT count(*) FROM items WHERE state <> 'done'") == [(0,)]
    [(count,)] = sql("SELECT count(*) FROM records")
    assert count == 4 * 30 - 4 + 4


async def test_a_helper_that_comes_back_begins_with_nothing(store: Store, sql: Sql) -> None:
    crawl, helper = await shared(store)
    await store.lose([Loss(helper.lease, alone=True, exit_status="killed", stderr_tail="", witnessed=False)])
    [again] = await helpers(store, 1, helper.bounds)
    assert again.lease.run_id == helper.lease.run_id
    step = await again.step()
    assert (step.items, step.at_once) == ((), 0)
    check(sql, crawl.lease.run_id, step.counts)
    await worked_off([crawl, again])
    assert sql("SELECT count(*) FROM items WHERE state <> 'done'") == [(0,)]


async def test_helpers_go_on_while_the_crawl_has_no_worker(store: Store, sql: Sql) -> None:
    crawl, helper = await shared(store)
    await store.lose([Loss(crawl.lease, alone=True, exit_status="killed", stderr_tail="", witnessed=False)])
    step = await helper.step(*(done(each) for each in helper.held.values()))
    assert step.items
    again = await claimed(store, crawl.lease.run_id, crawl.bounds)
    assert (await again.step()).at_once is not None
    assert not again.places & helper.places
    await worked_off([again, helper])
    assert sql("SELECT count(*) FROM items WHERE state <> 'done'") == [(0,)]


async def test_only_what_the_dead_one_held_is_suspected(store: Store, sql: Sql) -> None:
    crawl, helper = await shared(store)
    await store.lose([Loss(helper.lease, alone=True, exit_status="SIGSEGV", stderr_tail="")])
    suspects = {id_ for (id_,) in sql("SELECT id FROM items WHERE losses > 0")}
    assert suspects == set(helper.held)
    step = await crawl.step(*(done(each) for each in crawl.held.values()))
    assert {item.id for item in step.items} <= suspects, "they are tried apart"
    await worked_off([crawl])
    assert sql("SELECT count(*) FROM items WHERE state <> 'done'") == [(0,)]


@pytest.mark.parametrize("seed", range(by_level(3, 100)))
async def test_whatever_happens_every_page_is_read_once(store: Store, sql: Sql, seed: int) -> None:
    await read_in_any_order(store, sql, seed)


async def test_whatever_happens_on_postgresql(postgres_url: str) -> None:
    store = open_store(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        workers = await read_in_any_order(store, lambda text: connection.execute(text.encode()).fetchall(), 0)
        [crawl] = [worker for worker in workers if worker.lease.run.kind != SHARE]
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
    workers = [await claimed(store, run_id, bounds)]
    reads: Counter[str] = Counter()
    lost = 0
    for _ in range(2_000):
        workers += [Worker(store, lease, bounds) for lease in await store.claim_helpers(OTHER, 3, 10)]
        worker = dice.choice(workers)
        if dice.random() < 0.02:
            workers.remove(worker)
            lost += len(worker.held)
            reads.update(item.url for item in worker.held.values())
            await store.lose([Loss(worker.lease, alone=False, exit_status="x", stderr_tail="", witnessed=False)])
            await _taken_up(store, workers, worker.lease, bounds)
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


async def _taken_up(store: Store, workers: list[Worker], lease: Lease, bounds: Bounds) -> None:
    run = await store.run(lease.run_id)
    if run.state is RunState.QUEUED and run.kind != SHARE:
        workers.append(await claimed(store, run.id, bounds))
