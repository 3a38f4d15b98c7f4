from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.ids import RunId
from corral.domain.jobs.job import Strategy
from corral.domain.net.retry_after import retry_after_s
from corral.domain.runs.event import EventKind, fold
from corral.domain.runs.outcome import Failed, FailureCode, Fetched
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.retry import RetryPolicy, backoff_s, decide
from corral.domain.runs.run import RunAction, RunState
from tests.domain.runs.builders import A_RUN, NOW

POLICY = RetryPolicy()
CRASHED = {"outcome": "unknown", "detail": "browser_crash"}
RUNS = st.builds(
    lambda attempt, more, strategy, attempts: A_RUN._replace(
        attempt=attempt, max_attempts=attempt + more, resolved_strategy=strategy, attempts=tuple(attempts)
    ),
    st.integers(1, 100),
    st.integers(0, 5),
    st.sampled_from([Strategy.HTTP, Strategy.BROWSER, Strategy.API_REPLAY]),
    st.lists(st.sampled_from([CRASHED, {"outcome": "timeout", "detail": "browser"}, {"outcome": "fetched"}])),
)
FAILURES = st.builds(
    Failed,
    code=st.sampled_from(FailureCode),
    message=st.text(max_size=20),
    detail=st.none() | st.just("browser_crash") | st.text(max_size=10),
    http_status=st.none() | st.integers(100, 599),
    retry_after=st.none() | st.sampled_from(["5", "0", "99999", "garbage", "-3"]),
)

# The whole policy, said a second time: code -> (retried, escalated).
TABLE = {
    FailureCode.BLOCKED: (True, True),
    FailureCode.RATE_LIMITED: (True, True),
    FailureCode.TIMEOUT: (True, False),
    FailureCode.NETWORK: (True, False),
    FailureCode.UNKNOWN: (True, False),
    FailureCode.BAD_RESPONSE: (None, False),  # only the server's own errors
    FailureCode.EXTRACTION: (False, False),
    FailureCode.POLICY: (False, False),
    FailureCode.LIMIT: (False, False),
    FailureCode.WORKER_LOST: (False, False),
    FailureCode.CANCELLED: (False, False),
    FailureCode.WAITING: (False, False),  # goes back to the queue before anybody decides about it
}


# A replay that fails so is given to the browser at once, and the attempt is not counted.
REPLAY_GIVEN_UP = {
    *(FailureCode.BLOCKED, FailureCode.BAD_RESPONSE, FailureCode.EXTRACTION),
    *(FailureCode.LIMIT, FailureCode.NETWORK, FailureCode.TIMEOUT),
}


def test_the_table_covers_every_code() -> None:
    assert set(TABLE) == set(FailureCode)


@given(RUNS, FAILURES)
def test_decisions_about_failures_follow_the_table(run: object, failure: Failed) -> None:
    assert isinstance(run, type(A_RUN))
    retried, escalated = TABLE[failure.code]
    if retried is None:
        retried = failure.http_status is not None and failure.http_status >= 500
    transition = decide(run, failure, POLICY, NOW)
    kinds = [draft.kind for draft in transition.events]
    assert transition.failure is failure
    if failure.code is FailureCode.UNKNOWN and failure.detail == "browser_crash" and CRASHED not in run.attempts:
        assert (transition.action, kinds, transition.due_in_s) == (RunAction.RELEASE, [EventKind.RELEASED], 0.0)
        return
    if run.resolved_strategy is Strategy.API_REPLAY and failure.code in REPLAY_GIVEN_UP:
        assert (transition.action, transition.strategy) == (RunAction.RELEASE, Strategy.BROWSER)
        assert kinds == [EventKind.ESCALATED, EventKind.RELEASED]
        return
    if not retried or run.attempt >= run.max_attempts or failure.retry_after == "99999":  # longer than anybody waits
        assert (transition.action, kinds) == (RunAction.FAIL, [EventKind.FAILED])
        return
    assert transition.action is RunAction.RETRY
    assert kinds[-1] is EventKind.RETRY_SCHEDULED
    is_higher = escalated and run.resolved_strategy is not Strategy.BROWSER
    assert transition.strategy is (Strategy.BROWSER if is_higher else None)
    assert (EventKind.ESCALATED in kinds) == is_higher
    asked = retry_after_s(failure.retry_after, NOW)
    assert transition.due_in_s == (asked if asked is not None else backoff_s(POLICY, run.attempt, seed=run.id))


@given(RUNS, FAILURES | st.builds(Fetched, missing=st.sampled_from([(), ("price",)])))
def test_what_is_decided_is_what_the_events_say(run: object, outcome: Failed | Fetched) -> None:
    assert isinstance(run, type(A_RUN))
    transition = decide(run, outcome, POLICY, NOW)
    started = [EventKind.CREATED, EventKind.STARTED]
    assert fold([*started, *(draft.kind for draft in transition.events)]) is transition.to
    if transition.action is RunAction.RETRY:
        assert run.attempt < run.max_attempts


@pytest.mark.parametrize(
    "code, detail, move",
    [
        (FailureCode.EXTRACTION, "shape_changed", RunAction.RELEASE),
        (FailureCode.POLICY, "no_recipe", RunAction.RELEASE),
        (FailureCode.POLICY, "robots", RunAction.FAIL),
        (FailureCode.NETWORK, "refused", RunAction.RELEASE),
        (FailureCode.NETWORK, "proxy", RunAction.FAIL),
    ],
)
@pytest.mark.parametrize("asked", [Strategy.AUTO, Strategy.API_REPLAY])
def test_a_replay_that_fails_costs_no_attempt(asked: Strategy, code: FailureCode, detail: str, move: RunAction) -> None:
    run = A_RUN._replace(requested_strategy=asked, resolved_strategy=Strategy.API_REPLAY, max_attempts=A_RUN.attempt)
    assert decide(run, Failed(code, "", detail), POLICY, NOW).action is move
    without_browser = replace(POLICY, offers=frozenset({Strategy.HTTP}))
    assert decide(run, Failed(code, "", detail), without_browser, NOW).action is RunAction.FAIL


def test_a_good_answer_completes_with_its_records() -> None:
    transition = decide(A_RUN, Fetched(stats={"n": 1}, records=({"a": 1},)), POLICY, NOW)
    assert (transition.to, transition.records, transition.stats) == (RunState.COMPLETED, ({"a": 1},), {"n": 1})


@pytest.mark.parametrize("strategy, move", [(Strategy.HTTP, RunAction.RETRY), (Strategy.API_REPLAY, RunAction.RELEASE)])
def test_missing_fields_send_a_cheap_strategy_to_the_browser(strategy: Strategy, move: RunAction) -> None:
    run = A_RUN._replace(resolved_strategy=strategy)
    transition = decide(run, Fetched(records=({"a": 1},), missing=("b",)), POLICY, NOW)
    assert (transition.action, transition.strategy, transition.records) == (move, Strategy.BROWSER, ())


def test_what_is_no_page_is_not_given_to_the_browser() -> None:
    stats = {"is_binary": True, "content_type": "application/pdf"}
    transition = decide(A_RUN, Fetched(stats, ({"a": None},), missing=("a",)), POLICY, NOW)
    assert transition.to is RunState.FAILED
    assert transition.failure is not None
    assert transition.failure.code is FailureCode.EXTRACTION
    assert "application/pdf" in transition.failure.message


@pytest.mark.parametrize(
    "stats, why",
    [
        ({"is_binary": True, "is_packed": True, "content_type": "text/html"}, "is gzip data"),
        ({"content_length": 0, "http_status": 204}, "answered 204 with an empty body"),
        ({"content_length": 9}, "not found on the page"),
    ],
)
def test_the_message_says_why_a_field_is_missing(stats: dict[str, object], why: str) -> None:
    run = A_RUN._replace(resolved_strategy=Strategy.BROWSER)
    failure = decide(run, Fetched(stats, ({"a": None},), missing=("a",)), POLICY, NOW).failure
    assert failure is not None
    assert why in failure.message


def test_missing_fields_after_the_last_resort_leave_a_partial_result() -> None:
    run = A_RUN._replace(resolved_strategy=Strategy.BROWSER)
    transition = decide(run, Fetched(records=({"a": 1, "b": None},), missing=("b",)), POLICY, NOW)
    assert (transition.to, len(transition.records)) == (RunState.PARTIAL, 1)
    assert transition.stats["problems"] == {"missing": ["b"]}


@pytest.mark.parametrize("records", [(), ({},), ({"a": None, "b": ""},), ({"a": []},)])
def test_nothing_found_at_all_is_a_failure(records: tuple[dict[str, object], ...]) -> None:
    run = A_RUN._replace(attempt=3)
    transition = decide(run, Fetched(records=records, missing=("a", "b")), POLICY, NOW)
    assert (transition.to, transition.records) == (RunState.FAILED, ())


def test_a_wait_that_is_too_long_ends_the_run_and_says_so() -> None:
    failure = Failed(FailureCode.RATE_LIMITED, "slow down", retry_after="3000")
    transition = decide(A_RUN, failure, RetryPolicy(max_wait_s=600), NOW)
    assert transition.to is RunState.FAILED
    assert transition.events[0].meta["retry_after_s"] == 3000


@given(st.integers(1, 10_000), st.text(max_size=40))
def test_backoff_grows_to_its_cap_and_spreads_by_a_fifth(attempt: int, seed: str) -> None:
    plain_s = min(300.0, 10.0 * 3.0 ** min(attempt - 1, 10))
    waited_s = backoff_s(POLICY, attempt, seed=seed)
    assert 0.8 * plain_s <= waited_s <= 1.2 * plain_s
    assert waited_s == backoff_s(POLICY, attempt, seed=seed)


def test_backoff_of_many_runs_is_spread() -> None:
    waits = [backoff_s(POLICY, 1, seed=RunId(str(number))) for number in range(1000)]
    assert min(waits) < 8.2
    assert max(waits) > 11.8
    assert len(set(waits)) > 990


@pytest.mark.parametrize(
    "value, seconds",
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("0", 1),
        ("1", 1),
        (" 120 ", 120),
        ("3600", 3600),
        ("999999999", 3600),
        ("9" * 1_000_000, 3600),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 1),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600),
        ("Fri, 31 Dec 99999 23:59:59 GMT", None),
        ("Thu, 99 Foo 2026 25:61:61 GMT", None),
    ],
)
def test_retry_after_is_read_and_kept_in_bounds(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value, NOW) == seconds


@given(st.text(max_size=60))
def test_any_retry_after_is_survived(text: str) -> None:
    seconds = retry_after_s(text, NOW)
    assert seconds is None or 1 <= seconds <= 3600


@given(st.integers(-10_000, 10_000), st.sampled_from([UTC]))
def test_a_date_is_read_against_the_clock(ahead_s: int, zone: object) -> None:
    when = NOW + timedelta(seconds=ahead_s)
    assert retry_after_s(format_datetime(when, usegmt=True), NOW) == max(1, min(3600, ahead_s))


def test_a_date_without_a_zone_is_taken_for_utc() -> None:
    text = datetime(2026, 1, 1, 0, 2).strftime("%d %b %Y %H:%M:%S")  # noqa: DTZ001 - what is tested
    assert retry_after_s(text, NOW) == 120


@pytest.mark.parametrize("detail", ["no_session", "session_expired"])
@given(RUNS)
def test_a_run_that_needs_a_login_waits_for_a_person(detail: str, run: object) -> None:
    assert isinstance(run, type(A_RUN))
    failure = Failed(FailureCode.BLOCKED, "log in", detail=detail)
    run = run._replace(payload=Payload({"url": "http://example.test/?token=canary"}))
    transition = decide(run, failure, POLICY, NOW)
    assert (transition.action, transition.to) == (RunAction.HOLD, RunState.HELD)
    assert [draft.kind for draft in transition.events] == [EventKind.WAITING]
    assert transition.intervention is not None
    assert transition.intervention.reason == "log in"
    assert transition.intervention.url == "http://example.test/?token=***"
    assert transition.strategy is None


def test_other_blocks_are_nobodys_to_solve_by_logging_in() -> None:
    for detail in (None, "login_wall", "http_401", "captcha"):
        transition = decide(A_RUN, Failed(FailureCode.BLOCKED, "no", detail=detail), POLICY, NOW)
        assert transition.action is not RunAction.HOLD
        assert transition.intervention is None


@pytest.mark.parametrize("max_attempts", [1, 3])
def test_a_browser_that_always_crashes_ends_the_run_one_try_later_than_it_might(max_attempts: int) -> None:
    """Like a node and a store: what was tried is on the row, and a release counts nothing."""
    run = A_RUN._replace(resolved_strategy=Strategy.BROWSER, max_attempts=max_attempts)
    failure = Failed(FailureCode.UNKNOWN, "it crashed", "browser_crash")
    moves: list[RunAction] = []
    while len(moves) < 10 and moves[-1:] != [RunAction.FAIL]:
        moves.append(decide(run, failure, POLICY, NOW).action)
        more = 1 if moves[-1] is RunAction.RETRY else 0
        run = run._replace(attempt=run.attempt + more, attempts=(*run.attempts, CRASHED))
    assert moves == [RunAction.RELEASE, *[RunAction.RETRY] * (max_attempts - 1), RunAction.FAIL]


@given(RUNS, FAILURES | st.builds(Fetched, missing=st.sampled_from([(), ("price",)])))
def test_what_was_noticed_is_told_first_and_changes_nothing(run: object, outcome: Failed | Fetched) -> None:
    assert isinstance(run, type(A_RUN))
    cut = {"origin": "http://example.test", "read_bytes": 512_000}
    plain = decide(run, outcome, POLICY, NOW)
    told = decide(run, replace(outcome, stats={"robots_truncated": cut}), POLICY, NOW)
    assert (told.action, told.due_in_s, told.strategy) == (plain.action, plain.due_in_s, plain.strategy)
    first, *others = told.events
    assert (first.kind, first.meta) == (EventKind.ROBOTS_TRUNCATED, cut)
    assert [draft.kind for draft in others] == [draft.kind for draft in plain.events]


CANNOT_START = Failed(FailureCode.UNKNOWN, "the browser did not start", "browser_launch")


@pytest.mark.parametrize(
    "failure",
    [
        CANNOT_START,
        Failed(FailureCode.POLICY, "this installation has no usable browser", "strategy_unavailable"),
        Failed(FailureCode.BLOCKED, "the target answered 403", "http_403", 403),
    ],
)
def test_fields_found_over_http_are_kept_where_the_browser_fails(failure: Failed) -> None:
    record = {"title": "Lamp", "price": None}
    first = decide(A_RUN, Fetched({"n": 1}, (record,), missing=("price",)), POLICY, NOW)
    assert (first.action, first.strategy) == (RunAction.RETRY, Strategy.BROWSER)
    # What the first attempt found stays with the run through every further attempt.
    run = A_RUN._replace(resolved_strategy=Strategy.BROWSER, attempt=2, max_attempts=3, stats=first.stats)
    again = decide(run, CANNOT_START, POLICY, NOW)
    assert again.action is RunAction.RETRY
    last = decide(run._replace(attempt=3, stats=again.stats), failure, POLICY, NOW)
    assert (last.to, last.records, last.failure) == (RunState.PARTIAL, (record,), failure)
    assert last.stats["problems"] == {"missing": ["price"], "last_attempt": failure.message}
    assert "found_before" not in last.stats


def test_a_page_whose_scripts_probably_add_values_goes_to_the_browser_without_counting() -> None:
    run = A_RUN._replace(requested_strategy=Strategy.AUTO, resolved_strategy=Strategy.HTTP)
    record = {"rows": ["a"]}
    plain = Fetched({"script_content": True}, (record,))
    first = decide(run, plain, POLICY, NOW)
    assert (first.action, first.strategy) == (RunAction.RELEASE, Strategy.BROWSER)
    # If the browser fails for good, what was found over HTTP is a partial result.
    browser = run._replace(resolved_strategy=Strategy.BROWSER, attempt=3, max_attempts=3, stats=first.stats)
    last = decide(browser, CANNOT_START, POLICY, NOW)
    assert (last.to, last.records) == (RunState.PARTIAL, (record,))
    # Without a browser it is partial at once; a strategy that the user chose is not questioned.
    alone = decide(run, plain, replace(POLICY, offers=frozenset({Strategy.HTTP})), NOW)
    assert (alone.to, alone.failure and alone.failure.detail) == (RunState.PARTIAL, "script_content")
    chosen = decide(run._replace(requested_strategy=Strategy.HTTP), plain, POLICY, NOW)
    assert chosen.to is RunState.COMPLETED


def test_a_browser_that_finds_all_replaces_what_was_found_before() -> None:
    first = decide(A_RUN, Fetched({}, ({"a": 1, "b": None},), missing=("b",)), POLICY, NOW)
    run = A_RUN._replace(resolved_strategy=Strategy.BROWSER, attempt=2, stats=first.stats)
    done = decide(run, Fetched({}, ({"a": 1, "b": 2},)), POLICY, NOW)
    assert (done.to, done.records, done.stats) == (RunState.COMPLETED, ({"a": 1, "b": 2},), {})
    nothing = decide(A_RUN, Fetched({}, ({"a": None},), missing=("a",)), POLICY, NOW)
    run = A_RUN._replace(resolved_strategy=Strategy.BROWSER, attempt=3, stats=nothing.stats)
    assert decide(run, CANNOT_START, POLICY, NOW).to is RunState.FAILED
