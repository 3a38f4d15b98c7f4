import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.hosts.breaker import Breaker, BreakerRules, BreakerState, Sign, sign_of
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, Outcome, WaitReason

RULES = BreakerRules()
NOW = 1_000_000.0


def fail_with(code: FailureCode, status: int | None = None, detail: str | None = None) -> Failed:
    return Failed(code, "it failed", detail, http_status=status)


def open_breaker(now: float = NOW) -> Breaker:
    breaker = Breaker()
    for _ in range(5):
        breaker = breaker.after(Sign.ILL, now, RULES)
    return breaker


@pytest.mark.parametrize(
    "outcome, sign",
    [
        (Fetched(), Sign.WELL),
        (fail_with(FailureCode.BAD_RESPONSE, 404), Sign.WELL),
        (fail_with(FailureCode.BAD_RESPONSE, 410), Sign.WELL),
        (fail_with(FailureCode.BLOCKED, 401), Sign.WELL),
        (fail_with(FailureCode.BLOCKED, None, "no_session"), Sign.WELL),
        (fail_with(FailureCode.EXTRACTION), Sign.WELL),
        (fail_with(FailureCode.BAD_RESPONSE, 500), Sign.ILL),
        (fail_with(FailureCode.BAD_RESPONSE, None, "protocol"), Sign.ILL),
        (fail_with(FailureCode.BLOCKED, 403), Sign.ILL),
        (fail_with(FailureCode.RATE_LIMITED, 429), Sign.ILL),
        (fail_with(FailureCode.TIMEOUT), Sign.ILL),
        (fail_with(FailureCode.NETWORK, None, "connect"), Sign.ILL),
        (fail_with(FailureCode.NETWORK, None, "proxy"), Sign.NOTHING),
        (fail_with(FailureCode.NETWORK, None, "no_proxy"), Sign.NOTHING),
        (fail_with(FailureCode.POLICY), Sign.NOTHING),
        (fail_with(FailureCode.LIMIT), Sign.NOTHING),
        (fail_with(FailureCode.WORKER_LOST), Sign.NOTHING),
        (fail_with(FailureCode.CANCELLED), Sign.NOTHING),
        (fail_with(FailureCode.UNKNOWN), Sign.NOTHING),
        (Deferred("site.test", WaitReason.BUSY, 1.0), Sign.NOTHING),
    ],
)
def test_only_the_hosts_own_failures_speak_against_it(outcome: Outcome, sign: Sign) -> None:
    assert sign_of(outcome) is sign


def test_five_failures_in_a_row_open_it_for_five_minutes() -> None:
    breaker = Breaker()
    for _ in range(4):
        breaker = breaker.after(Sign.ILL, NOW, RULES)
    assert breaker.state is BreakerState.CLOSED

    breaker = breaker.after(Sign.ILL, NOW, RULES)

    assert breaker.state is BreakerState.OPEN
    assert breaker.wait_s(NOW, RULES) == 300
    assert breaker.wait_s(NOW + 299, RULES) == 1
    assert breaker.wait_s(NOW + 300, RULES) == 0


@pytest.mark.parametrize("sign, opens", [(Sign.WELL, False), (Sign.NOTHING, True)])
def test_a_good_answer_forgets_failures_and_one_that_says_nothing_does_not(sign: Sign, *, opens: bool) -> None:
    breaker = Breaker()
    for each in (Sign.ILL, Sign.ILL, Sign.ILL, Sign.ILL, sign, Sign.ILL):
        breaker = breaker.after(each, NOW, RULES)

    assert (breaker.state is BreakerState.OPEN) == opens


def test_after_the_wait_exactly_one_probe_goes() -> None:
    later = NOW + 300
    probing = open_breaker().start(later)

    assert probing.state is BreakerState.PROBING
    assert probing.wait_s(later, RULES) > 0
    assert probing.after(Sign.WELL, later, RULES, was_probe=True) == Breaker()
    failed_again = probing.after(Sign.ILL, later + 1, RULES, was_probe=True)
    assert failed_again.state is BreakerState.OPEN
    assert failed_again.wait_s(later + 1, RULES) == 300


def test_a_probe_that_says_nothing_is_repeated_and_one_that_is_lost_is_replaced() -> None:
    probing = open_breaker().start(NOW + 300)

    assert probing.after(Sign.NOTHING, NOW + 301, RULES, was_probe=True).wait_s(NOW + 301, RULES) == 0
    assert probing.wait_s(NOW + 300 + RULES.probe_s, RULES) == 0


@pytest.mark.parametrize("sign", Sign)
def test_what_was_under_way_when_it_opened_changes_nothing(sign: Sign) -> None:
    breaker = open_breaker()
    assert breaker.after(sign, NOW + 5, RULES) == breaker

    probing = breaker.start(NOW + 300)
    assert probing.after(sign, NOW + 301, RULES) == probing


def test_a_site_may_want_more_than_one_good_probe() -> None:
    rules = BreakerRules(closes_after=2)
    once = open_breaker().start(NOW + 300).after(Sign.WELL, NOW + 301, rules, was_probe=True)

    assert once.state is BreakerState.OPEN
    assert once.wait_s(NOW + 301, rules) == 0
    twice = once.start(NOW + 302).after(Sign.WELL, NOW + 303, rules, was_probe=True)
    assert twice == Breaker()
    assert once.start(NOW + 302).after(Sign.ILL, NOW + 303, rules, was_probe=True).successes == 0


def test_a_clock_that_was_set_back_makes_nobody_wait_for_longer() -> None:
    assert open_breaker(NOW).wait_s(NOW - 10_000, RULES) == 300


_STEPS = st.lists(st.tuples(st.sampled_from(Sign), st.floats(0, 400)), max_size=60)


@given(_STEPS)
def test_at_any_moment_one_probe_at_most_and_the_document_says_all(steps: list[tuple[Sign, float]]) -> None:
    breaker, now = Breaker(), NOW
    for sign, passed_s in steps:
        now += passed_s
        assert Breaker.of(json.loads(json.dumps(breaker.document()))) == breaker
        if breaker.wait_s(now, RULES) > 0:
            assert breaker.state is not BreakerState.CLOSED
            continue
        is_probe = breaker.state is not BreakerState.CLOSED
        breaker = breaker.start(now)
        if is_probe:
            assert breaker.wait_s(now, RULES) > 0  # no second one beside it
        breaker = breaker.after(sign, now, RULES, was_probe=is_probe)
        assert breaker.failures < 5 or breaker.state is not BreakerState.CLOSED


def test_pages_that_fail_after_many_good_ones_do_not_open_it() -> None:
    breaker = Breaker().count_well(100)
    for _ in range(49):
        breaker = breaker.after(Sign.ILL, 0.0, BreakerRules(), of_page=True)
    assert breaker.opened_at is None
    assert breaker.after(Sign.ILL, 0.0, BreakerRules(), of_page=True).opened_at is not None
    assert breaker.after(Sign.WELL, 0.0, BreakerRules()).failures == 0


def test_a_host_that_does_not_answer_opens_it_after_five_however_well_it_was() -> None:
    breaker = Breaker().count_well(1_000)
    for _ in range(5):
        assert breaker.opened_at is None
        breaker = breaker.after(Sign.ILL, 0.0, BreakerRules())
    assert breaker.opened_at is not None
