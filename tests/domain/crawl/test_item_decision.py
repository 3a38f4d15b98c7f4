from datetime import UTC, datetime, timedelta

import pytest

from corral.domain.crawl.crawl import CrawlPlan, ItemState
from corral.domain.crawl.item_decision import decide_item, is_of_page
from corral.domain.ids import RunId
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, WaitReason
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.retry import RetryPolicy, decide
from corral.domain.runs.run import Run, RunAction, RunState

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
PLAN = CrawlPlan.of({"start_urls": ["https://example.com/"]})


def fail_with(
    code: FailureCode, status: int | None = None, *, detail: str | None = None, retry_after: str | None = None
) -> Failed:
    return Failed(code, "it failed", detail, http_status=status, retry_after=retry_after)


def test_a_fetched_page_is_done() -> None:
    transition = decide_item(1, Fetched(), PLAN, NOW, key="k")
    assert (transition.to, transition.failure) == (ItemState.DONE, None)


@pytest.mark.parametrize("attempt, plain_s", [(1, 10), (2, 30)])
def test_a_failure_that_may_pass_is_tried_again_later_and_later(attempt: int, plain_s: float) -> None:
    waits = [
        decide_item(attempt, fail_with(FailureCode.TIMEOUT), PLAN, NOW, key=str(number)).due_in_s
        for number in range(50)
    ]
    assert all(0.8 * plain_s <= wait <= 1.2 * plain_s for wait in waits)
    assert len(set(waits)) > 40


def test_the_last_attempt_that_fails_is_the_end() -> None:
    once = CrawlPlan.of({"start_urls": ["https://example.com/"], "retry_attempts": 1})

    assert decide_item(3, fail_with(FailureCode.TIMEOUT), PLAN, NOW, key="k").to is ItemState.FAILED
    assert decide_item(1, fail_with(FailureCode.TIMEOUT), once, NOW, key="k").to is ItemState.FAILED


@pytest.mark.parametrize(
    "told, waits_s", [("30", 30), ("0", 1), ("-5", None), ("Sun, 15 Nov 2026 12:01:00 GMT", 60), ("x", None)]
)
def test_retry_after_wins(told: str, waits_s: float | None) -> None:
    transition = decide_item(1, fail_with(FailureCode.RATE_LIMITED, 429, retry_after=told), PLAN, NOW, key="k")

    assert transition.to is ItemState.PENDING
    if waits_s is None:
        assert 8 <= transition.due_in_s <= 12
    else:
        assert transition.due_in_s == waits_s


@pytest.mark.parametrize("told", ["999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_sent_away_for_hours_an_item_ends(told: str) -> None:
    transition = decide_item(1, fail_with(FailureCode.RATE_LIMITED, 429, retry_after=told), PLAN, NOW, key="k")
    assert transition.to is ItemState.FAILED


@pytest.mark.parametrize("code", [FailureCode.WORKER_LOST, FailureCode.CANCELLED])
def test_what_says_nothing_of_the_page_gives_it_back(code: FailureCode) -> None:
    transition = decide_item(3, fail_with(code), PLAN, NOW, key="k")
    assert (transition.to, transition.counts_attempt, transition.due_in_s) == (ItemState.PENDING, False, 0)


def test_a_page_whose_host_is_not_to_be_asked_waits_and_counts_no_attempt() -> None:
    outcome = Deferred("site.test", WaitReason.BREAKER, 120)
    transition = decide_item(3, outcome, PLAN, NOW, key="k")
    assert (transition.to, transition.counts_attempt, transition.due_in_s) == (ItemState.PENDING, False, 120)


_NEVER_DECIDED = (FailureCode.WORKER_LOST, FailureCode.CANCELLED, FailureCode.WAITING)
OUTCOMES = [fail_with(code) for code in FailureCode if code not in _NEVER_DECIDED] + [
    fail_with(FailureCode.BAD_RESPONSE, 404),
    fail_with(FailureCode.BAD_RESPONSE, 410),
    fail_with(FailureCode.BAD_RESPONSE, 500),
    fail_with(FailureCode.BAD_RESPONSE, 503, retry_after="7"),
    fail_with(FailureCode.RATE_LIMITED, 429, retry_after=str(10**9)),
]


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("attempt", [1, 3])
def test_items_are_tried_again_where_runs_are(outcome: Failed, attempt: int) -> None:
    run = Run(
        id=RunId("r"),
        job_id=None,
        kind="page",
        state=RunState.RUNNING,
        priority=Priority.MEDIUM,
        attempt=attempt,
        max_attempts=3,
        requested_strategy=Strategy.HTTP,
        resolved_strategy=Strategy.HTTP,
        payload=Payload({}),
        epoch=1,
        losses=0,
        suspect=False,
        due_at=NOW,
        created_at=NOW - timedelta(minutes=1),
        stats={},
    )
    of_run = decide(run, outcome, RetryPolicy(offers=frozenset()), NOW)
    of_item = decide_item(attempt, outcome, PLAN, NOW, key="r")

    assert (of_item.to is ItemState.PENDING) == (of_run.action is RunAction.RETRY)
    # A page that its host refuses, while it answers, is not worth the pause that a host in trouble needs.
    most = 2.0 * 3 ** (attempt - 1) if is_of_page(outcome) else float("inf")
    assert of_item.due_in_s == min(most, of_run.due_in_s)


@pytest.mark.parametrize("detail", ["no_session", "session_expired"])
def test_a_page_behind_a_login_is_not_asked_for_again(detail: str) -> None:
    outcome = fail_with(FailureCode.BLOCKED, detail=detail)
    assert decide_item(1, outcome, PLAN, NOW, key="k").to is ItemState.FAILED


@pytest.mark.parametrize("detail, waits", [("refused", 1.0), ("tls", None), ("dns", None)])
def test_a_dead_start_address_is_known_soon(detail: str, waits: float | None) -> None:
    dead = Failed(FailureCode.NETWORK, "nobody answers", detail)
    decided = decide_item(1, dead, PLAN, NOW, key="r", is_start=True)
    assert (decided.to, decided.due_in_s) == ((ItemState.FAILED, 0.0) if waits is None else (ItemState.PENDING, waits))
    assert decide_item(1, dead, PLAN, NOW, key="r").due_in_s > 5
