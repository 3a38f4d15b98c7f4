"""From a browser run to a recipe, and from the recipe to records without a browser; through a node and its workers."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from corral.demo import running_site
from corral.demo.content import products
from corral.domain.fields.parse import parse_fields
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId
from corral.domain.jobs.job import Job, Strategy
from corral.domain.runs.event import EventKind
from corral.domain.runs.run import Run, RunState
from corral.domain.sites.recipe.recipe import recipe_key
from corral.runtime.new_ids import new_id
from corral.wiring.app import App
from tests import forked
from tests.chaos.level import by_level
from tests.engine.builders import kinds, run_node, settings_for, wait_for_runs
from tests.fetch.browsing import needs_chromium
from tests.fetch.changing import Changing, changing_site
from tests.waiting import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]

FIELDS = (FieldSpec("name"), FieldSpec("price"))
# All tests share a node and its browser, and what is known of a site is known of its host: each has a host of its own.
HOSTS = (f"127.0.0.{number}" for number in range(2, 250))


@pytest.fixture
def host() -> str:
    return next(HOSTS)


@pytest.fixture
def site(host: str) -> Iterator[Changing]:
    with changing_site(host) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    needs_chromium()
    settings = settings_for(tmp_path_factory.mktemp("node"), egress_allow="127.0.0.0/8:*", workers=1)
    with forked.fork_processes():
        async with run_node(settings) as opened:
            yield opened


async def run_of(app: App, url: str, fields: tuple[FieldSpec, ...] = FIELDS, strategy: Strategy = Strategy.AUTO) -> Run:
    job = Job(JobId(new_id()), url, fields, datetime.now(UTC), strategy=strategy, max_attempts=2)
    stored, _ = await app.jobs.create(job)
    run, _ = await app.submitter.start(stored.job.id)
    [run] = await wait_for_runs(app, [run.id])
    return run


async def record_of(app: App, run: Run) -> dict[str, Any]:
    [record] = await app.store.records.of_run(run.id, "", 10)
    return record.data


async def replay_is_remembered(app: App, host: str) -> bool:
    return any(memory.strategy is Strategy.API_REPLAY for memory in await app.store.sites.memories(host))


async def test_the_shop_is_browsed_once_and_replayed_from_then_on(app: App, host: str) -> None:
    fields = (*FIELDS, FieldSpec("title"), FieldSpec("description"))
    async with running_site(host) as site:
        first = await run_of(app, f"{site.url}/shop/1", fields)
        assert (first.state, first.resolved_strategy) == (RunState.COMPLETED, Strategy.BROWSER), first
        assert await kinds(app, first.id) == ["created", "started", "recipe_recorded", "completed"]
        [recipe] = await app.store.recipes.for_fields(host, recipe_key(fields))
        assert recipe.url_pattern == "/shop/*"

        second = await run_of(app, f"{site.url}/shop/2", fields)
        assert (second.state, second.resolved_strategy) == (RunState.COMPLETED, Strategy.API_REPLAY), second
        [created, *_] = await app.store.events.of_run(second.id, 0, 10)
        assert "recorded" in created.meta["reason"]
        assert created.meta["recipe_id"] == recipe.id
        found = products()[1]
        price = f"{found.amount} {found.currency}"
        expected = {"name": found.name, "price": price, "title": found.name, "description": found.description}
        assert await record_of(app, second) == expected

        browsed = await run_of(app, f"{site.url}/shop/2", fields, Strategy.BROWSER)
        assert await record_of(app, browsed) == expected
        assert "recipe_recorded" not in await kinds(app, browsed.id)  # the same again is nothing new


async def test_lists_are_replayed_as_lists(app: App, host: str) -> None:
    parts = ({"name": "name", "css": ".name"}, {"name": "price", "css": ".price", "type": "money"})
    fields = (
        FieldSpec("names", css=".card .name", all=True),
        *parse_fields([{"name": "cards", "item": ".card", "fields": parts}, {"name": "shop", "const": "demo"}]),
    )
    async with running_site(host) as site:
        assert (await run_of(app, f"{site.url}/shop?page=1", fields)).resolved_strategy is Strategy.BROWSER
        replayed = await run_of(app, f"{site.url}/shop?page=2", fields)
        assert replayed.resolved_strategy is Strategy.API_REPLAY
        browsed = await run_of(app, f"{site.url}/shop?page=2", fields, Strategy.BROWSER)
        record = await record_of(app, replayed)
        assert record == await record_of(app, browsed)
        assert [card["name"] for card in record["cards"]] == record["names"]
        assert all(card["price"]["amount"] > 0 for card in record["cards"])


async def test_a_changed_shape_goes_to_the_browser_which_records_anew(app: App, site: Changing) -> None:
    await run_of(app, site.url("/shop/1"))
    run = await run_of(app, site.url("/shop/2"))
    assert run.resolved_strategy is Strategy.API_REPLAY
    assert await record_of(app, run) == site.record(2)

    site.is_old = False
    run = await run_of(app, site.url("/shop/3"))
    assert (run.state, run.attempt, run.resolved_strategy) == (RunState.COMPLETED, 1, Strategy.BROWSER), run
    assert [(entry["strategy"], entry["outcome"]) for entry in run.attempts] == [
        ("api_replay", "extraction"),
        ("browser", "fetched"),
    ]
    assert run.attempts[0]["detail"] == "shape_changed"
    events = {event.kind: event.meta for event in await app.store.events.of_run(run.id, 0, 20)}
    assert events[EventKind.ESCALATED] == {"from": "api_replay", "to": "browser"}
    assert events[EventKind.RECIPE_RECORDED]["version"] == 2
    assert await record_of(app, run) == site.record(3)

    site.asked.clear()
    run = await run_of(app, site.url("/shop/4"))
    assert (run.state, run.attempt, run.resolved_strategy) == (RunState.COMPLETED, 1, Strategy.API_REPLAY), run
    assert await record_of(app, run) == site.record(4)
    assert site.calls() == [("POST", "/api/v2/query")]


async def test_a_job_of_one_attempt_does_not_fail_for_a_recipe_that_is_out_of_date(app: App, site: Changing) -> None:
    await run_of(app, site.url("/shop/1"))
    site.is_old = False
    job = Job(JobId(new_id()), site.url("/shop/2"), FIELDS, datetime.now(UTC), max_attempts=1)
    stored, _ = await app.jobs.create(job)
    run, _ = await app.submitter.start(stored.job.id)
    [run] = await wait_for_runs(app, [run.id])
    assert (run.state, run.attempt, run.resolved_strategy) == (RunState.COMPLETED, 1, Strategy.BROWSER), run
    assert [entry["strategy"] for entry in run.attempts] == ["api_replay", "browser"]
    assert await record_of(app, run) == site.record(2)
    assert await kinds(app, run.id) == [
        *("created", "started", "escalated", "released", "started", "recipe_recorded", "completed")
    ]


@pytest.mark.parametrize("token_in, status", [("query", 403), ("path", 410), ("query", 500)])
async def test_a_recipe_with_a_token_that_is_good_once_fails_no_run_and_is_tried_once(
    app: App, site: Changing, token_in: str, status: int
) -> None:
    site.token_in, site.token_status = token_in, status
    runs, count = [], by_level(3, 5)
    for _ in range(count):
        job = Job(JobId(new_id()), site.url("/once/3"), FIELDS, datetime.now(UTC), max_attempts=1)
        stored, _ = await app.jobs.create(job)
        run, _ = await app.submitter.start(stored.job.id)
        runs += await wait_for_runs(app, [run.id])
        if len(runs[-1].attempts) > 1:
            await until(lambda: replay_is_remembered(app, site.host))  # what was learnt is written once a second
    assert {run.state for run in runs} == {RunState.COMPLETED}
    assert [await record_of(app, run) for run in runs] == [site.record(3)] * count
    strategies = [[entry["strategy"] for entry in run.attempts] for run in runs]
    assert strategies == [["browser"], ["api_replay", "browser"], *[["browser"]] * (count - 2)]


async def test_a_replay_that_is_asked_for_without_a_recipe_goes_to_the_browser(app: App, site: Changing) -> None:
    run = await run_of(app, site.url("/shop/5"), strategy=Strategy.API_REPLAY)
    assert (run.state, run.resolved_strategy) == (RunState.COMPLETED, Strategy.BROWSER)
    assert [entry["detail"] for entry in run.attempts if "detail" in entry] == ["no_recipe"]
    assert "recipe_recorded" in await kinds(app, run.id)
    run = await run_of(app, site.url("/shop/6"), strategy=Strategy.API_REPLAY)
    assert run.resolved_strategy is Strategy.API_REPLAY


@pytest.mark.long
async def test_a_pinned_recipe_is_not_overwritten(app: App, site: Changing) -> None:
    await run_of(app, site.url("/shop/1"))
    [recipe] = await app.store.recipes.for_fields(site.host, recipe_key(FIELDS))
    await app.store.recipes.change(recipe.id, None, pinned=True)
    site.is_old = False
    run = await run_of(app, site.url("/shop/2"), strategy=Strategy.BROWSER)
    assert run.state is RunState.COMPLETED
    assert "recipe_recorded" not in await kinds(app, run.id)
    [kept] = await app.store.recipes.for_fields(site.host, recipe_key(FIELDS))
    assert (kept.document, kept.version) == (recipe.document, recipe.version)


@pytest.mark.long
async def test_a_retried_run_takes_the_recipe_as_it_is_now(app: App, site: Changing) -> None:
    run = await run_of(app, site.url("/shop/1"))
    run = await run_of(app, site.url("/shop/1"))
    assert run.resolved_strategy is Strategy.API_REPLAY
    site.is_old = False
    await run_of(app, site.url("/shop/2"), strategy=Strategy.BROWSER)
    again, _ = await app.submitter.retry(run.id)
    [again] = await wait_for_runs(app, [again.id])
    assert (again.state, again.resolved_strategy) == (RunState.COMPLETED, Strategy.API_REPLAY), again
    assert await record_of(app, again) == site.record(1)


@pytest.mark.long
async def test_a_call_that_robots_may_not_make_teaches_nothing(app: App, site: Changing) -> None:
    site.robots = "User-agent: *\nDisallow: /api\n"
    run = await run_of(app, site.url("/shop/1"))
    assert run.state is RunState.COMPLETED
    assert "recipe_recorded" not in await kinds(app, run.id)
