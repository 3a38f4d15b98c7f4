"""Runs at the gates of real hosts: real workers, real servers, as the servers see it."""

import asyncio
import time
from itertools import pairwise
from pathlib import Path

import pytest

from corral.domain.errors import CannotLook
from corral.domain.hosts.claiming import MAX_SET_ASIDE
from corral.domain.hosts.limiter import SitePace
from corral.domain.ids import RunId
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.jobs.survey import Survey
from corral.domain.net.url import parse_target
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import NewRun, Run, RunState
from corral.runtime.new_ids import new_id
from corral.settings import Settings
from corral.wiring.app import App
from corral.wiring.roles import open_api
from tests.chaos.level import LEVEL, by_level
from tests.engine.builders import events, kinds, node_of, put, run_node, settings_for, sound, wait_for_runs
from tests.engine.crawl.site import Page, serve_site
from tests.engine.hosts.limited_runs import host_of, settings_with_limits
from tests.waiting import until


def a_page(url: str, *, max_attempts: int = 3) -> NewRun:
    return NewRun(
        id=RunId(new_id()),
        job_id=None,
        kind="page",
        priority=Priority.MEDIUM,
        max_attempts=max_attempts,
        requested_strategy=Strategy.HTTP,
        resolved_strategy=Strategy.HTTP,
        payload=Payload({"url": url, "fields": [{"name": "title"}], "respect_robots": False}),
    )


async def read_waiting_reasons(app: App, ids: list[str]) -> list[str | None]:
    return [(await app.store.runs.get(id_)).waiting_reason for id_ in ids]


def all_done(runs: list[Run]) -> bool:
    return {run.state for run in runs} == {RunState.COMPLETED}


async def test_a_host_is_asked_by_so_many_at_once_whoever_asks(tmp_path: Path) -> None:
    with serve_site({"/": Page(takes_s=0.03)}) as site:
        async with run_node(settings_with_limits(tmp_path, host_concurrency=3, workers=2)) as app:
            runs = await wait_for_runs(app, await put(app, *[a_page(f"{site.url}/") for _ in range(24)]))
    assert all_done(runs)
    assert site.most_at_once == 3


async def test_a_host_that_is_well_is_asked_without_messages(tmp_path: Path) -> None:
    with serve_site({"/": Page()}) as site:
        async with run_node(settings_with_limits(tmp_path)) as app:
            for _ in range(10):
                assert all_done(await wait_for_runs(app, await put(app, *[a_page(f"{site.url}/") for _ in range(20)])))
            heard = node_of(app).limiter.messages
    assert site.hits["/"] == 200
    assert heard < 100  # it asks, is lent, and tells once a second


async def test_a_host_with_a_delay_gets_its_next_run_while_pages_are_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run is claimed when the one before it has got its slot: not when it ends, and not at the next poll."""
    monkeypatch.setattr("corral.engine.node.node._POLL_S", 60.0)
    with serve_site({"/": Page(takes_s=30)}) as site:
        settings = settings_with_limits(
            tmp_path, host_delay_seconds=0.1, host_max_delay_seconds=1, http_timeout_seconds=60
        )
        async with run_node(settings) as app:
            await put(app, *[a_page(f"{site.url}/") for _ in range(8)])
            await until(lambda: site.at_once >= 6, within_s=2.5)


async def test_a_long_queue_of_a_full_host_does_not_keep_others_waiting_for_polls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim that has set aside as many runs as it may is followed by the next one at once."""
    monkeypatch.setattr("corral.engine.node.node._POLL_S", 60.0)
    with serve_site({"/": Page(takes_s=30)}) as full, serve_site({"/": Page()}) as free:
        async with run_node(settings_with_limits(tmp_path, host_concurrency=1, http_timeout_seconds=60)) as app:
            await put(app, *[a_page(f"{full.url}/") for _ in range(8 * MAX_SET_ASIDE)], a_page(f"{free.url}/"))
            await until(lambda: free.hits["/"] == 1, within_s=4)


async def test_a_delay_lies_between_visits_and_is_never_the_same(tmp_path: Path) -> None:
    with serve_site({"/": Page()}) as site:
        async with run_node(settings_with_limits(tmp_path, host_delay_seconds=0.3, host_max_delay_seconds=1)) as app:
            ids = await put(app, *[a_page(f"{site.url}/") for _ in range(5)])
            await until(lambda: _one_waits(app, ids))
            runs = await wait_for_runs(app, ids)
            await sound(app)
    gaps = [later - earlier for (_, earlier), (_, later) in pairwise(site.asked_at)]
    assert all_done(runs)
    assert {run.attempt for run in runs} == {1}
    assert sum(gaps) >= 4 * 0.12  # half of it each, at least; on a busy machine, one request arrives later than another
    assert len({round(gap, 3) for gap in gaps}) > 1


async def _one_waits(app: App, ids: list[str]) -> bool:
    return "pace" in await read_waiting_reasons(app, ids)


@pytest.mark.skipif(not LEVEL, reason="long")
async def test_a_person_sets_the_pace_of_one_site(tmp_path: Path) -> None:
    with serve_site({"/": Page()}) as slow, serve_site({"/": Page()}) as other:
        async with run_node(settings_with_limits(tmp_path)) as app:
            await app.store.hosts.set_pace(slow.url.partition("//")[2], SitePace(1, 0.4))
            await until(lambda: host_of(app, slow).pace_override is not None)
            sites = [slow, other, slow, other, slow, other]
            await wait_for_runs(app, await put(app, *[a_page(f"{site.url}/") for site in sites]))
    spans = [site.asked_at[-1][1] - site.asked_at[0][1] for site in (slow, other)]
    assert spans[0] >= 0.4 > spans[1]


async def test_retry_after_holds_up_every_run_of_the_host(tmp_path: Path) -> None:
    limited = Page(status=429, headers={"retry-after": "2"})
    with serve_site({"/": Page(), "/limited": limited}) as site:
        async with run_node(settings_with_limits(tmp_path)) as app:
            await put(app, a_page(f"{site.url}/limited", max_attempts=1))
            await until(lambda: host_of(app, site).host_key in node_of(app).limiter.watched)
            told_at = site.asked_at[0][1]
            [other] = await put(app, a_page(f"{site.url}/"))
            await until(lambda: _waits(app, other, "retry_after"))
            [run] = await wait_for_runs(app, [other])
    assert (run.state, run.attempt) == (RunState.COMPLETED, 1)
    assert site.asked_at[-1][1] - told_at >= 1.9


async def _waits(app: App, run_id: str, reason: str) -> bool:
    return (await app.store.runs.get(run_id)).waiting_reason == reason


async def test_a_host_that_suffers_is_slowed_down_and_recovers(tmp_path: Path) -> None:
    with serve_site({"/": Page(), "/hot": Page(status=503)}) as site:
        settings = settings_with_limits(tmp_path, host_concurrency=2, host_max_delay_seconds=0.05)
        async with run_node(settings) as app:
            await wait_for_runs(app, await put(app, a_page(f"{site.url}/hot", max_attempts=1)))
            host = host_of(app, site)
            await until(lambda: host.condition.pace.delay_s > 0)
            assert host.condition.pace.at_once(node_of(app).limiter.rules_of(host).pace) == 1
            runs = await wait_for_runs(app, await put(app, *[a_page(f"{site.url}/") for _ in range(30)]))
            await until(lambda: host.host_key not in node_of(app).limiter.watched)
    assert all_done(runs)


async def test_a_waiting_host_holds_no_slot(tmp_path: Path) -> None:
    with serve_site({"/": Page()}) as slow, serve_site({"/": Page()}) as other:
        settings = settings_with_limits(tmp_path, workers=1, runs_per_process=1)
        async with run_node(settings) as app:
            await app.store.hosts.set_pace(slow.url.partition("//")[2], SitePace(delay_s=30))
            await until(lambda: host_of(app, slow).pace_override is not None)
            first, *late = await put(app, *[a_page(f"{slow.url}/") for _ in range(5)])
            [quick] = await put(app, a_page(f"{other.url}/"))
            assert all_done(await wait_for_runs(app, [first, quick]))
            assert [(await app.store.runs.get(id_)).state for id_ in late] == [RunState.QUEUED] * 4
            assert await read_waiting_reasons(app, late) == ["pace"] * 4
            assert (await kinds(app, late[0])).count("host_deferred") == 1
            await sound(app)


async def test_a_breaker_opens_lets_one_probe_through_and_nothing_is_lost(tmp_path: Path) -> None:
    with serve_site({"/": Page(status=500)}) as site:
        settings = settings_with_limits(tmp_path, breaker_open_seconds=by_level(2, 12), host_max_delay_seconds=0)
        async with run_node(settings) as app:
            host = host_of(app, site)
            failing = await put(app, *[a_page(f"{site.url}/", max_attempts=100) for _ in range(5)])
            await until(lambda: host.condition.breaker.opened_at is not None)
            queued = await put(app, *[a_page(f"{site.url}/") for _ in range(by_level(60, 1000))])
            await until(lambda: _all_wait(app, host.host_key, len(failing) + len(queued)))
            before = site.hits["/"]

            # Still ill when it is probed first: one request, and everybody waits on.
            await until(lambda: site.hits["/"] > before, within_s=40)
            await asyncio.sleep(0.3)
            assert site.hits["/"] == before + 1
            assert host.condition.breaker.opened_at is not None

            site.pages["/"] = Page(takes_s=0.4)
            await until(lambda: site.hits["/"] > before + 1, within_s=40)
            await asyncio.sleep(0.2)
            assert site.hits["/"] == before + 2
            runs = await wait_for_runs(app, [*failing, *queued], timeout_s=by_level(20, 90))
            assert all_done(runs)
            # The one that was sent to see counted as an attempt; nobody else lost one.
            assert sum(run.attempt for run in runs[5:]) <= len(queued) + 1
            assert (await events(app, queued[-1]))[1].meta["waiting_reason"] == "breaker"
            assert (await kinds(app, queued[-1])).count("started") == 1, "it was claimed when it could run"
            assert await app.store.hosts.get(host.host_key) is not None
            await sound(app)


async def _all_wait(app: App, host_key: str, count: int) -> bool:
    return (await app.store.hosts.count_waiting())[0].get(host_key) == count


@pytest.mark.skipif(not LEVEL, reason="long")
async def test_nodes_with_one_database_share_breakers_and_probes(shared_settings: Settings) -> None:
    changed = {"egress_allow": "127.0.0.0/8:*", "breaker_failures": 2, "breaker_open_seconds": 2.0, "workers": 1}
    settings = settings_for(shared_settings.data_dir, shared_settings.database_url, **changed)
    with serve_site({"/": Page(status=500)}) as site:
        async with run_node(settings) as one, run_node(settings) as two:
            host_key = host_of(one, site).host_key
            await put(one, *[a_page(f"{site.url}/", max_attempts=50) for _ in range(8)])
            await until(lambda: all(host_key in node_of(each).limiter.watched for each in (one, two)))
            before, began = site.hits["/"], time.monotonic()
            site.pages["/"] = Page(takes_s=0.5)
            await until(lambda: site.hits["/"] > before)
            assert time.monotonic() - began > 1
            assert site.at_once <= 1
            ids = [str(run.id) for run in await one.store.runs.newest(None, None, None, 50)]
            assert all_done(await wait_for_runs(one, ids))
            await until(lambda: all(host_key not in node_of(each).limiter.watched for each in (one, two)))


async def test_nodes_with_one_database_together_ask_a_host_by_no_more_than_it_allows(shared_settings: Settings) -> None:
    changed = {"egress_allow": "127.0.0.0/8:*", "host_concurrency": 4, "workers": 1, "runs_per_process": 8}
    settings = settings_for(shared_settings.data_dir, shared_settings.database_url, **changed)
    with serve_site({"/": Page(takes_s=0.1)}) as site:
        async with run_node(settings) as one, run_node(settings) as two:
            ids = await put(one, *[a_page(f"{site.url}/") for _ in range(160)])
            host_key = host_of(one, site).host_key
            await until(lambda: all(_uses(each, host_key) for each in (one, two)))
            runs = await wait_for_runs(one, ids)
    assert all_done(runs)
    assert {run.attempt for run in runs} == {1}
    assert site.most_at_once == 4


def _uses(app: App, host_key: str) -> bool:
    host = node_of(app).limiter.hosts.get(host_key)
    return host is not None and 0 < host.quota < 4 and host.condition.pace.active > 0


async def test_nodes_with_one_database_keep_the_delay_of_a_host_together(shared_settings: Settings) -> None:
    settings = settings_for(shared_settings.data_dir, shared_settings.database_url, host_delay_seconds=0.4, workers=1)
    let_in: list[tuple[float, int]] = []

    async def ask(app: App, number: int) -> None:
        while len({who for _, who in let_in}) < 2 or len(let_in) < 12:
            visit = app.permits.visit()
            if await visit.enter(parse_target("http://site.test/")) is None:
                let_in.append((time.monotonic(), number))
            else:
                await asyncio.sleep(0.05)
            visit.end(None)

    async with run_node(settings) as one, run_node(settings) as two, asyncio.timeout(60):
        await asyncio.gather(*(ask(app, number) for number, app in enumerate((one, two))))
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(let_in)]
    assert min(gaps) >= 0.19  # half of it, at least


async def test_what_a_node_does_not_need_any_more_another_one_has_at_once(shared_settings: Settings) -> None:
    changed = {"egress_allow": "127.0.0.0/8:*", "host_concurrency": 4, "workers": 1}
    settings = settings_for(shared_settings.data_dir, shared_settings.database_url, **changed)
    with serve_site({"/": Page()}) as site:
        async with run_node(settings) as one:
            assert all_done(await wait_for_runs(one, await put(one, a_page(f"{site.url}/"))))
            host = host_of(one, site)
            assert host.quota == 4
        async with run_node(settings) as two:  # the other one has stopped
            assert all_done(await wait_for_runs(two, await put(two, a_page(f"{site.url}/"))))
            assert (host_of(two, site).quota, host_of(two, site).is_contested) == (4, False)
            await until(lambda: host_of(two, site).quota == 0)  # nobody asks it any more


async def test_a_process_that_only_serves_goes_past_the_gates_with_what_it_looks_at(tmp_path: Path) -> None:
    with serve_site({"/": Page()}) as site:
        async with open_api(settings_with_limits(tmp_path)) as app:
            seen = await app.previews.look(f"{site.url}/", Survey.PAGE)
            hits = site.hits["/"]
            await app.store.hosts.open_breaker(site.url.partition("//")[2], 5, 0)
            await until(lambda: bool(app.standalone_limiter and app.standalone_limiter.limiter.watched))
            with pytest.raises(CannotLook, match="deferred by"):
                await app.previews.look(f"{site.url}/", Survey.PAGE)
    assert seen is not None
    assert site.hits["/"] == hits
