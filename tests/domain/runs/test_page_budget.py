"""The budget of a run that fetches one page."""

from typing import Any

import pytest

from corral.domain.cost.spent import SPENT, Spent
from corral.domain.jobs.job import Strategy
from corral.domain.runs.event import EventKind
from corral.domain.runs.outcome import Failed, FailureCode, Fetched
from corral.domain.runs.page_budget import limit_attempt_s, stop_by_budget
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.retry import RetryPolicy, Transition, decide
from corral.domain.runs.run import Run, RunState
from tests.domain.runs.builders import A_RUN, NOW

REFUSED = Failed(FailureCode.NETWORK, "connection refused", "refused")


def a_run(budget: dict[str, float], *attempts: Spent, **more: Any) -> Run:
    document = {"url": "http://example.test/", "budget": budget, "prices": {"request": 0.5}}
    entries = tuple({SPENT: each._asdict()} for each in attempts)
    return A_RUN._replace(payload=Payload(document), attempts=entries, **more)


def settle(run: Run, outcome: Fetched | Failed, spent: Spent) -> Transition:
    return stop_by_budget(run, decide(run, outcome, RetryPolicy(), NOW), spent)


@pytest.mark.parametrize(
    "budget, spent",
    [
        ({"requests": 3}, Spent(requests=2)),
        ({"bytes": 100}, Spent(size=99)),
        ({"seconds": 4}, Spent(took_ms=3_950)),
        ({"browser_seconds": 4}, Spent(browser_ms=3_950)),
        ({"cost": 1.5}, Spent(requests=2)),
    ],
)
def test_a_budget_that_is_used_up_ends_a_run_as_partial_instead_of_a_retry(
    budget: dict[str, float], spent: Spent
) -> None:
    [name] = budget
    first = Spent(requests=1, size=1)
    ended = settle(a_run(budget, first), REFUSED, spent)
    assert ended.to is RunState.PARTIAL
    assert ended.stats["budget"] == f"budget.{name}"
    assert ended.stats["left_out"] == {f"budget.{name}": 1}
    assert [event.kind for event in ended.events] == [EventKind.PARTIAL]
    assert ended.failure is not None
    assert (ended.failure.code, ended.failure.detail) == (FailureCode.LIMIT, "budget")
    assert "connection refused" in ended.failure.message


def test_attempts_within_the_budget_are_retried() -> None:
    run = a_run({"requests": 3, "bytes": 100, "seconds": 4, "browser_seconds": 4, "cost": 1.5}, Spent(requests=1))
    assert settle(run, REFUSED, Spent(requests=1, size=9, took_ms=2_000)).to is RunState.QUEUED


def test_a_page_that_was_fetched_is_complete_although_the_budget_is_used_up() -> None:
    run = a_run({"requests": 1})
    assert settle(run, Fetched({}, ({"title": "a"},)), Spent(requests=1)).to is RunState.COMPLETED


def test_the_fields_that_were_found_before_the_budget_ended_are_kept() -> None:
    found = Fetched({}, ({"title": "a", "price": None},), ("price",))
    ended = settle(a_run({"requests": 1}), found, Spent(requests=1))
    assert ended.to is RunState.PARTIAL
    assert ended.records == ({"title": "a", "price": None},)
    assert ended.stats["problems"]["missing"] == ["price"]


def test_an_attempt_gets_no_more_time_than_the_budget_has_left() -> None:
    assert limit_attempt_s(a_run({}), 20.0) == 20.0
    run = a_run({"seconds": 5, "browser_seconds": 3}, Spent(took_ms=2_000, browser_ms=2_000))
    assert limit_attempt_s(run, 20.0) == 3.0
    assert limit_attempt_s(run._replace(resolved_strategy=Strategy.BROWSER), 20.0) == 1.0
    assert limit_attempt_s(run, 2.0) == 2.0


def test_a_budget_is_only_of_pages() -> None:
    run = a_run({"requests": 1})._replace(kind="script")
    assert settle(run, REFUSED, Spent(requests=9)).to is RunState.QUEUED
    assert limit_attempt_s(run, 20.0) == 20.0
