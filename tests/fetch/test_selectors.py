"""Selectors and patterns that never end cost one field, by plain HTTP and by browser."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from corral.domain.jobs.job import Strategy
from corral.domain.runs.outcome import Fetched
from corral.domain.runs.retry import RetryPolicy, decide
from corral.domain.runs.run import RunAction
from corral.fetch.parsing.messages import ReaderLimits
from tests.chaos.level import LEVEL
from tests.domain.runs.builders import A_RUN, NOW
from tests.fetch.arena import EXECUTORS, Arena, arena_with
from tests.fetch.browsing import serve
from tests.slack import SLACK

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]

PAGE = "<title>Page</title><p class=price>" + "a" * 60 + "!</p>" + "<p>a</p>" * 30_000
SLOW: list[dict[str, Any]] = [
    {"name": "slow", "css": ".price", "regex": "(a+)+$"},
    {"name": "slow", "css": ".price", "regex": "(a|aa)+$"},
    {"name": "slow", "css": ".price", "regex": "(.*a){25}b"},
    {"name": "slow", "css": ".price", "regex": r"^(([a-z])+.)+[A-Z]([a-z])+$"},
    {"name": "slow", "css": "x ~ p"},
]
# The readers are the same for both: when there is little time, the browser gets one pattern and one selector.
WAYS = [
    pytest.param(each, executor, id=f"{each.get('regex', each['css'])}-{executor}")
    for each in SLOW
    for executor in EXECUTORS
    if LEVEL or executor == "http" or each in (SLOW[0], SLOW[-1])
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena() -> AsyncIterator[Arena]:
    with pytest.MonkeyPatch.context() as patch:
        serve(patch, "/selectors", PAGE)
        async with arena_with(reader_limits=ReaderLimits(selector_s=0.3)) as made:
            yield made


@pytest.mark.parametrize("recipe, executor", WAYS)
async def test_a_recipe_that_takes_too_long_costs_its_own_field_only(
    arena: Arena, recipe: dict[str, Any], executor: str
) -> None:
    fields = ("title", recipe, {"name": "price", "css": ".price", "regex": "a{3}"})
    outcome = await arena.run(executor, arena.den.url("/selectors"), *fields, timeout_s=30 * SLACK)
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records == ({"title": "Page", "slow": None, "price": "aaa"},)
    assert outcome.missing == ("slow",)
    assert outcome.stats["problems"] == {"slow": "limit:selector"}


async def test_such_a_run_is_partial_and_no_browser_is_asked() -> None:
    outcome = Fetched({"problems": {"slow": "limit:selector"}}, ({"title": "Page", "slow": None},), ("slow",))
    run = A_RUN._replace(resolved_strategy=Strategy.HTTP, attempt=1, max_attempts=3)
    transition = decide(run, outcome, RetryPolicy(), NOW)
    assert transition.action is RunAction.COMPLETE_PARTLY
    assert transition.failure is not None
    assert (transition.failure.code, transition.failure.detail) == ("limit", "selector")
    assert "slow" in transition.failure.message
    assert transition.stats["problems"] == {"slow": "limit:selector", "missing": ["slow"]}


async def test_a_field_that_is_also_missing_still_goes_to_a_browser() -> None:
    found = {"title": "Page", "slow": None, "other": None}
    outcome = Fetched({"problems": {"slow": "limit:selector"}}, (found,), ("slow", "other"))
    run = A_RUN._replace(resolved_strategy=Strategy.HTTP, attempt=1, max_attempts=3)
    assert decide(run, outcome, RetryPolicy(), NOW).strategy is Strategy.BROWSER


@pytest.mark.parametrize("executor", EXECUTORS if LEVEL else ("http",))
async def test_links_beyond_ten_thousand_are_counted(
    arena: Arena, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = "".join(f"<a href=/{number}>x</a>" for number in range(12_345))
    serve(monkeypatch, "/links", f"<title>Links</title>{links}")
    outcome = await arena.run(executor, arena.den.url("/links"), {"name": "links", "all": True}, timeout_s=30)
    assert isinstance(outcome, Fetched), outcome
    assert len(outcome.records[0]["links"]) == 10_000
    assert outcome.stats["links_dropped"] == 2_345
