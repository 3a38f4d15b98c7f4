from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.payload.stored import Payload
from corral.fetch.api_replay import ApiReplayExecutor
from corral.fetch.egress.client import Egress
from corral.fetch.limits import FetchLimits
from corral.fetch.robots import Robots
from tests.fetch.changing import Changing, changing_site

NAME = {"name": {"call": 0, "value": "{$.name}"}}
ITEM = {
    "url_pattern": "/shop/*",
    "calls": [{"method": "GET", "url": "{origin}/api/items/{path.1}", "headers": {}}],
    "fields": {**NAME, "price": {"call": 0, "value": "€ {$.price.amount:0.00}"}},
}


@pytest.fixture
def site() -> Iterator[Changing]:
    with changing_site() as running:
        yield running


@pytest.fixture
async def replay(site: Changing) -> AsyncIterator[ApiReplayExecutor]:
    policy = EgressPolicy((AllowEntry.parse(f"127.0.0.1/32:{site.port}"),))
    egress = Egress(policy, FetchLimits(), "corral-test")
    yield ApiReplayExecutor(egress, Robots(egress, "corral-test"))
    await egress.close()


async def replay_page(
    replay: ApiReplayExecutor, site: Changing, recipe: dict[str, Any] | None, *names: str, path: str = "/shop/7"
) -> Outcome:
    fields = [{"name": name} for name in names or ("name", "price")]
    payload: dict[str, Any] = {"url": site.url(path), "fields": fields}
    if recipe is not None:
        payload["recipe"] = {"id": "r", "version": 1, **recipe}
    return await replay.execute(Task("run", 1, "page", "api_replay", 1, Payload(payload), 10))


def make_call(url: str, method: str = "GET", **more: Any) -> dict[str, Any]:
    return {"url_pattern": "/shop/*", "calls": [{"method": method, "url": url, **more}], "fields": NAME}


def failure_of(outcome: Outcome) -> tuple[FailureCode, str | None]:
    assert isinstance(outcome, Failed), outcome
    return outcome.code, outcome.detail


async def test_the_calls_of_a_recipe_fill_the_record(replay: ApiReplayExecutor, site: Changing) -> None:
    outcome = await replay_page(replay, site, ITEM)
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records == (site.record(7),)
    assert outcome.missing == ()
    assert site.asked == [("GET", "/api/items/7")]
    assert (outcome.stats["http_status"], outcome.stats["cost"]) == (200, 1)


async def test_a_field_the_recipe_does_not_know_is_missing(replay: ApiReplayExecutor, site: Changing) -> None:
    outcome = await replay_page(replay, site, ITEM, "name", "colour")
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records == ({"name": "Item number 7", "colour": None},)
    assert outcome.missing == ("colour",)


async def test_without_a_recipe_it_says_what_to_do(replay: ApiReplayExecutor, site: Changing) -> None:
    outcome = await replay_page(replay, site, None)
    assert failure_of(outcome) == (FailureCode.POLICY, "no_recipe")
    assert isinstance(outcome, Failed)
    assert "browser" in outcome.message


@pytest.mark.parametrize("url", ["{origin}/api/page", "{origin}/api/nowhere", "{origin}/api/status/400"])
async def test_an_answer_of_another_shape(replay: ApiReplayExecutor, site: Changing, url: str) -> None:
    assert failure_of(await replay_page(replay, site, make_call(url))) == (FailureCode.EXTRACTION, "shape_changed")


async def test_a_path_that_is_not_there(replay: ApiReplayExecutor, site: Changing) -> None:
    outcome = await replay_page(replay, site, {**ITEM, "fields": {"name": {"value": "{$.title}"}}})
    assert failure_of(outcome) == (FailureCode.EXTRACTION, "shape_changed")
    assert isinstance(outcome, Failed)
    assert "$.title" in outcome.message


async def test_a_page_that_is_not_of_the_recipe(replay: ApiReplayExecutor, site: Changing) -> None:
    outcome = await replay_page(replay, site, ITEM, path="/articles/7")
    assert failure_of(outcome) == (FailureCode.EXTRACTION, "shape_changed")
    assert site.asked == []


@pytest.mark.parametrize(
    "status, code",
    [(403, FailureCode.BLOCKED), (429, FailureCode.RATE_LIMITED), (503, FailureCode.BAD_RESPONSE)],
)
async def test_what_a_status_says_is_heard(
    replay: ApiReplayExecutor, site: Changing, status: int, code: FailureCode
) -> None:
    outcome = await replay_page(replay, site, make_call(f"{{origin}}/api/status/{status}"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.http_status, outcome.retry_after) == (code, status, "7")


async def test_robots_may_refuse_the_page_or_only_the_call(replay: ApiReplayExecutor, site: Changing) -> None:
    site.robots = "User-agent: *\nDisallow: /api\nDisallow: /shop/8\n"
    assert failure_of(await replay_page(replay, site, ITEM)) == (FailureCode.EXTRACTION, "replay_refused")
    assert failure_of(await replay_page(replay, site, ITEM, path="/shop/8")) == (FailureCode.POLICY, "robots")
    assert site.calls() == []


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_robots_may_refuse_where_a_call_is_sent_on_to(
    replay: ApiReplayExecutor, site: Changing, method: str
) -> None:
    site.robots = "User-agent: *\nDisallow: /api/echo\n"
    outcome = await replay_page(replay, site, make_call("{origin}/api/redirect/307", method))
    assert failure_of(outcome) == (FailureCode.EXTRACTION, "replay_refused")


async def test_a_recipe_reaches_no_address_that_is_not_allowed(replay: ApiReplayExecutor, site: Changing) -> None:
    outcome = await replay_page(replay, site, make_call("http://127.0.0.2:9/api"))
    assert failure_of(outcome) == (FailureCode.POLICY, "egress")


@pytest.mark.parametrize(
    "status, arrives", [(307, 'POST {"id":7}'), (308, 'POST {"id":7}'), (302, "GET"), (303, "GET")]
)
async def test_a_post_is_sent_on_only_where_the_status_says_so(
    replay: ApiReplayExecutor, site: Changing, status: int, arrives: str
) -> None:
    recipe = make_call(
        f"{{origin}}/api/redirect/{status}",
        "POST",
        headers={"content-type": "application/json"},
        body={"id": "{path.1:number}"},
    )
    recipe["fields"] = {**NAME, "type": {"value": "{$.type}"}}
    outcome = await replay_page(replay, site, recipe, "name", "type")
    assert isinstance(outcome, Fetched), outcome
    expected = "application/json" if arrives.startswith("POST") else None
    assert outcome.records == ({"name": arrives, "type": expected},)
