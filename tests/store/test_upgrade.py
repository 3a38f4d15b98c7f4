"""A database that version 0018 left with work in flight is opened by this version, and the work goes on."""

from pathlib import Path

from corral.domain.ids import Owner
from corral.domain.runs.run import CRAWL_HELPER, RunState
from corral.store.open import open_store
from corral.store.store import Store
from corral.store.to_postgres.migrate import move
from tests import services
from tests.store.builders import ME, OTHER, check_history, complete, settle
from tests.store.old_database import CRAWL, HELPER, LATE_HELPER, OLD_NODE, QUEUED, RUNNING, UNREAD, make_old_database
from tests.store.sharing import Worker, done, helpers


async def _check_rest(store: Store) -> None:
    host = await store.hosts.get("h0.test")
    assert host is not None
    assert (host.failures, host.pace_override.concurrency) == (2, 3)
    [memory] = await store.sites.memories("h0.test")
    assert (memory.requested, memory.found) == (4, 3)
    assert (await store.sessions.get("session-1")).name == "login"
    assert await store.runs.is_pinned(CRAWL)
    [page] = await store.pages.next_batch(CRAWL, 0)
    assert (page.url, page.requested_url) == ("http://h0.test/b", "http://h0.test/a")
    assert [await store.maintenance.purge(), await store.maintenance.purge()] == [True, False], "one was left to purge"


async def _go_on(store: Store) -> None:
    """Reap the runs of the old node, then let two workers finish the crawl."""
    assert (await store.runs.get(HELPER)).kind == (await store.runs.get(LATE_HELPER)).kind == CRAWL_HELPER
    await store.runs.reap()
    for run_id in (QUEUED, RUNNING):
        [lease] = await store.runs.claim_one(run_id, ME, 10)
        assert await settle(store, complete(lease))
        await check_history(store, run_id)
    before = (await store.crawls.get(CRAWL)).counts
    [lease] = await store.runs.claim_one(CRAWL, ME, 10)
    crawl = Worker(store, lease)
    await crawl.step()
    [helper, *_] = [*await helpers(store, 1, owner=OTHER)]
    leased = await _work_off(crawl, helper)
    assert len(leased) == len(set(leased)) == UNREAD, "each unread item is read once, and no other"
    after = (await store.crawls.get(CRAWL)).counts
    assert (after.done, after.failed, after.skipped) == (before.done + UNREAD, before.failed, before.skipped)
    assert (after.pending, after.leased, after.deferred) == (0, 0, 0)
    await crawl.step(is_last=True, want=0)
    assert await settle(store, complete(crawl.lease))
    assert (await store.runs.get(CRAWL)).state is RunState.COMPLETED
    await check_history(store, CRAWL)
    assert await store.maintenance.audit() == []


async def _work_off(*workers: Worker) -> list[str]:
    """Let the workers read everything; the URLs of all items that they got."""
    leased = [item.url for worker in workers for item in worker.held.values()]
    for _ in range(500):
        for worker in workers:
            batch = await worker.step(*(done(item) for item in list(worker.held.values())))
            leased += [item.url for item in batch.items]
        if all(worker.is_done for worker in workers):
            return leased
    raise AssertionError("the crawl never ends")


async def test_runs_and_a_crawl_in_flight_go_on_after_the_upgrade(empty_url: str) -> None:
    make_old_database(empty_url)
    store = open_store(empty_url)
    await _check_rest(store)
    [node] = await store.nodes.list_all()
    assert node.info.owner == OLD_NODE
    grants = await store.hosts.find_contested(Owner(OLD_NODE))
    assert grants == {"h0.test": False}, "the quotas of both nodes are there"
    await _go_on(store)
    await store.close()


async def test_a_file_of_the_version_before_is_moved_to_postgres(
    tmp_path: Path, postgres: services.PostgresCluster
) -> None:
    path = tmp_path / "corral.db"
    make_old_database(f"sqlite:///{path}")
    url = postgres.create_database()
    move(path, url, lambda *_: None)
    store = open_store(url)
    await _check_rest(store)
    await _go_on(store)
    await store.close()
    postgres.drop_database(url)
