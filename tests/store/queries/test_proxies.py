"""The proxy pool in both databases."""

import sqlalchemy as sa

from corral.domain.net.pool_policy import Tier
from corral.domain.proxies.checking import ProxyCheck
from corral.domain.proxies.config import CheckPlan
from corral.domain.proxies.imports import NewProxy
from corral.domain.proxies.payload import ProxyCheckPayload, ProxyRefreshPayload
from corral.domain.proxies.pooled import Anonymity, ProxyState
from corral.domain.proxies.refresh import RefreshStatus
from corral.domain.proxies.use import ProxyUse, Verdict
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.run import PROXY_CHECK, PROXY_REFRESH, NewRun, RunAction
from corral.engine.worker.kinds.registry import find_kind
from corral.store.proxy_tables import proxies
from corral.store.store import Store

_AGE = sa.update(proxies).values(cooled_until=1)
CREATED = [EventDraft(EventKind.CREATED, {})]


def new(number: int, sealed: str | None = None, tier: Tier = Tier.DATACENTRE) -> NewProxy:
    return NewProxy(f"http://h{number}:1", f"http://h{number}:1", sealed, tier, "list")


async def add_alive(store: Store, count: int) -> list[int]:
    await store.proxies.add([new(number) for number in range(count)])
    ids = await store.proxies.ids()
    checks = [ProxyCheck(each, latency_ms=10, anonymity=Anonymity.ELITE, exit_address="1.1.1.1") for each in ids]
    assert await store.proxies.record_checks(checks) == count
    return ids


async def test_an_import_is_repeatable_and_takes_over_new_credentials(store: Store) -> None:
    first = await store.proxies.add([new(1), new(2)])
    again = await store.proxies.add([new(1), new(2, "kid.key.box"), new(3)])
    assert (first.imported, again.imported, again.updated, again.unchanged) == (2, 1, 1, 1)
    [newest, *_] = await store.proxies.page(None, None, 10)
    assert newest.address == "http://h3:1"
    assert [each.sealed for each in await store.proxies.page(None, 3, 1)] == ["kid.key.box"]
    assert await store.sessions.count_keys() == {"kid": 1}


async def test_checks_and_uses_move_a_proxy_in_and_out_of_the_pool(store: Store) -> None:
    [only] = await add_alive(store, 1)
    assert (await store.proxies.load()).usable[0].exit_address == "1.1.1.1"
    fault = ProxyUse(only, "site", Tier.DATACENTRE, Verdict.FAULT, "refused")
    await store.proxies.record_uses([fault, fault])
    assert (await store.proxies.count())["alive"] == 1
    await store.proxies.record_uses([fault])
    out = await store.proxies.get(only)
    assert (out.state, out.failures, out.problem) == (ProxyState.COOLING, 3, "refused")
    assert (await store.proxies.load()).usable == []


async def test_what_a_site_thinks_of_a_proxy_and_of_its_tier_is_kept(store: Store) -> None:
    [only] = await add_alive(store, 1)
    use = ProxyUse(only, "site", Tier.DATACENTRE, Verdict.REFUSED)
    await store.proxies.record_uses([use, use, ProxyUse(0, "site", Tier.DIRECT, Verdict.GOOD)])
    sites = (await store.proxies.load()).sites
    assert {key: (round(each.good), round(each.bad)) for key, each in sites.items()} == {
        (only, "site"): (0, 2),
        (-1, "site"): (0, 2),
        (0, "site"): (1, 0),
    }
    await store.proxies.delete(only)
    assert (only, "site") not in (await store.proxies.load()).sites


def a_refresh() -> NewRun:
    return find_kind(PROXY_REFRESH).draft_run(ProxyRefreshPayload())


def a_check(*ids: int) -> NewRun:
    return find_kind(PROXY_CHECK).draft_run(ProxyCheckPayload(ids, CheckPlan(judge="http://j.test/")))


async def test_one_refresh_runs_at_a_time_and_its_end_is_noted_once(store: Store) -> None:
    await add_alive(store, 3)
    refresh_id, is_new = await store.proxies.start_refresh(a_refresh(), CREATED)
    assert await store.proxies.start_refresh(a_refresh(), CREATED) == (refresh_id, False)
    assert is_new
    chunks = [a_check(1, 2), a_check(3)]
    assert await store.proxies.add_chunks(refresh_id, [(each, CREATED) for each in chunks])
    assert not await store.proxies.add_chunks(refresh_id, [(a_check(1), CREATED)])
    progress = await store.proxies.progress(refresh_id)
    assert (progress.status, progress.total_chunks) == (RefreshStatus.DISPATCHED, 2)
    assert set(await store.proxies.open_runs()) == {refresh_id, *(each.id for each in chunks)}

    await store.runs.apply_action(chunks[0].id, RunAction.CANCEL)
    [progress] = await store.proxies.note_refresh_ends()
    assert (progress.status, progress.completed_chunks) == (RefreshStatus.PROCESSING, 1)
    for run_id in (chunks[1].id, refresh_id):
        await store.runs.apply_action(run_id, RunAction.CANCEL)
    [ended] = await store.proxies.note_refresh_ends()
    assert (ended.status, ended.result_count, ended.completed_at is not None) == (RefreshStatus.FAILED, 3, True)
    assert await store.proxies.note_refresh_ends() == []

    assert await store.proxies.start_refresh(a_refresh(), CREATED, not_before_s=600) == (refresh_id, False)
    assert (await store.proxies.start_refresh(a_refresh(), CREATED))[1]


async def test_proxies_that_cooled_down_are_checked_once(store: Store) -> None:
    ids = await add_alive(store, 2)
    await store.proxies.record_checks([ProxyCheck(ids[0], "refused")])
    assert await store.proxies.start_rechecks(10, lambda due: (a_check(*due), CREATED)) == []
    await store.proxies.record_checks([ProxyCheck(each, "refused") for each in ids])
    # Age the rows instead of waiting.
    await store._db.write(lambda tx: tx.run(_AGE))
    [run] = await store.proxies.start_rechecks(10, lambda due: (a_check(*due), CREATED))
    assert sorted(run.payload.read(ProxyCheckPayload).proxies) == ids
    assert await store.proxies.start_rechecks(10, lambda due: (a_check(*due), CREATED)) == []
