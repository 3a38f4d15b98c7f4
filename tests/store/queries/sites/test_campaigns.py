"""Campaigns: sites start when those they wait for have ended, once, whoever looks."""

import asyncio

import pytest

from corral.domain.campaigns.campaign import NewSite
from corral.domain.campaigns.raised_alerts import RaisedAlerts, ReportFinding
from corral.domain.crawl.item import DiscoveredLink
from corral.domain.errors import CampaignNotFound, RunNotFound
from corral.domain.runs.event import fold
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.run import CRAWL, RunAction, RunState
from corral.runtime.new_ids import new_id
from corral.store.store import Store
from tests.store.builders import CREATED, a_run


def a_site(name: str, *waits_for: str) -> NewSite:
    run = a_run(kind=CRAWL, max_attempts=1, payload={"url": "http://x.test/", "crawl": {}, "about": {"pages": 1}})
    return NewSite(name, run, CREATED, [DiscoveredLink("http://x.test/", new_id(), "x.test", 0)], waits_for)


async def test_a_site_starts_when_those_it_waits_for_have_ended(store: Store) -> None:
    sites = [a_site("a"), a_site("b", "a"), a_site("c", "b")]
    campaign_id, _ = await store.campaigns.add(new_id(), sites)
    before = await store.campaigns.get(campaign_id)
    assert [each.run.state for each in before.sites if each.run] == [RunState.QUEUED, RunState.HELD, RunState.HELD]
    assert await store.campaigns.release_ready(campaign_id) == []

    await store.runs.apply_action(sites[0].run.id, RunAction.CANCEL)
    both = await asyncio.gather(*(store.campaigns.release_ready(campaign_id) for _ in range(3)))
    assert [run.id for each in both for run in each] == [sites[1].run.id], "once, although three looked"
    after = await store.campaigns.get(campaign_id)
    assert [each.run.state for each in after.sites if each.run][1:] == [RunState.QUEUED, RunState.HELD]
    history = await store.events.of_run(sites[1].run.id, 0, 100)
    assert fold(each.kind for each in history) is RunState.QUEUED


async def test_a_person_who_pauses_a_released_site_is_obeyed(store: Store) -> None:
    sites = [a_site("a"), a_site("b", "a")]
    campaign_id, _ = await store.campaigns.add(new_id(), sites)
    await store.runs.apply_action(sites[0].run.id, RunAction.CANCEL)
    assert len(await store.campaigns.release_ready(campaign_id)) == 1
    await store.runs.apply_action(sites[1].run.id, RunAction.PAUSE)
    assert await store.campaigns.release_ready(campaign_id) == []


async def test_a_campaign_ends_once_and_a_key_starts_it_once(store: Store) -> None:
    key = IdempotencyKey("key", "print")
    first, is_replayed = await store.campaigns.add(new_id(), [a_site("a")], key)
    again, was_replayed = await store.campaigns.add(new_id(), [a_site("a")], key)
    assert (first, is_replayed, was_replayed) == (again, False, True)
    assert await store.campaigns.list_open() == [first]
    assert [await store.campaigns.end(first, {"n": n}) for n in (1, 2)] == [True, False]
    assert await store.campaigns.list_open() == []
    [ended] = await store.campaigns.newest(None, 10)
    assert ended.report == {"n": 1}
    assert ended.ended_at is not None
    assert await store.campaigns.find_by_run(ended.sites[0].run_id) == first
    assert await store.campaigns.find_by_run("none") is None
    assert await store.campaigns.forget(3600) == 0
    assert await store.campaigns.forget(-1) == 1
    assert await store.campaigns.newest(None, 10) == []
    with pytest.raises(CampaignNotFound):
        await store.campaigns.get(new_id())


async def test_alerts_of_a_running_campaign_are_raised_by_one_node_only(store: Store) -> None:
    campaign_id, _ = await store.campaigns.add(new_id(), [a_site("a")])
    known = (await store.campaigns.get(campaign_id)).raised
    assert known == RaisedAlerts()
    alerts = [a_run(kind="alert"), a_run(kind="alert")]
    found = {"ops": [ReportFinding("a", "error_rate", "failing")]}
    nodes = [
        store.campaigns.raise_alerts(campaign_id, known.plus(found, [alert.id]), [(alert, CREATED)]) for alert in alerts
    ]
    assert sorted(await asyncio.gather(*nodes)) == [False, True]
    raised = (await store.campaigns.get(campaign_id)).raised
    assert (raised.by_channel, raised.rounds) == ({"ops": frozenset({("a", "error_rate")})}, 1)
    [winner] = raised.runs
    assert (await store.runs.get(winner)).kind == "alert"
    [loser] = {alert.id for alert in alerts} - {winner}
    with pytest.raises(RunNotFound):
        await store.runs.get(loser)
    await store.campaigns.end(campaign_id, {})
    assert not await store.campaigns.raise_alerts(campaign_id, raised.plus(found, []), [])
