import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.hosts.pace import Pace, PaceRules

NOW = 1_000_000.0
RULES = PaceRules(concurrency=8)


def after(*statuses: int, rules: PaceRules = RULES, latency_s: float = 0.1, pace: Pace | None = None) -> Pace:
    pace = pace or Pace()
    now = NOW
    for status in statuses:
        now += 2
        pace = pace.start(now, rules, 0.5).finish(now, rules, status=status, latency_s=latency_s)
    return pace


def test_a_host_without_rules_is_asked_as_often_as_is_allowed_at_once() -> None:
    pace = Pace()
    for _ in range(8):
        assert pace.may_start(NOW, RULES) == 0
        pace = pace.start(NOW, RULES, 0.5)

    assert pace.may_start(NOW, RULES) == math.inf
    assert pace.finish(NOW, RULES, status=200, latency_s=0.1).may_start(NOW, RULES) == 0


@pytest.mark.parametrize("chance, waits_s", [(0.0, 1.0), (0.5, 2.0), (1.0, 3.0)])
def test_a_delay_is_spread_by_chance(chance: float, waits_s: float) -> None:
    rules = PaceRules(delay_s=2.0)
    assert Pace().start(NOW, rules, chance).may_start(NOW, rules) == pytest.approx(waits_s)


def test_a_crawl_delay_is_kept_one_at_a_time_and_never_shortened() -> None:
    rules = PaceRules(concurrency=8, crawl_delay_s=5)
    pace = Pace().start(NOW, rules, 0.0)

    assert pace.may_start(NOW, rules) == math.inf
    assert pace.finish(NOW + 1, rules, status=200, latency_s=1).may_start(NOW + 1, rules) == pytest.approx(4)
    absurd = PaceRules(crawl_delay_s=86_400)
    assert Pace().start(NOW, absurd, 0.5).finish(NOW, absurd).may_start(NOW, absurd) == absurd.max_delay_s


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_suffers_gets_half_as_many_twice_as_far_apart(status: int) -> None:
    slowed = after(status)
    again = after(status, status)

    assert (slowed.at_once(RULES), slowed.delay_s) == (4, 0.5)
    assert (again.at_once(RULES), again.delay_s) == (2, 1.0)


def test_it_never_gets_less_than_one_at_a_time_and_the_longest_delay() -> None:
    slowed = after(*[429] * 50)

    assert slowed.at_once(RULES) == 1
    assert slowed.delay_s == RULES.max_delay_s


def test_one_bad_moment_slows_once_however_many_were_in_the_air() -> None:
    pace = Pace()
    for _ in range(8):
        pace = pace.start(NOW, RULES, 0.5)
    for _ in range(8):
        pace = pace.finish(NOW + 0.1, RULES, status=503, latency_s=0.1)

    assert pace.at_once(RULES) == 4


def test_good_answers_bring_the_pace_back_slowly() -> None:
    slowed = after(429, 429)
    soon = after(*[200] * 5, pace=slowed)
    later = after(*[200] * 200, pace=slowed)

    assert slowed.at_once(RULES) == 2
    assert soon.at_once(RULES) < 8
    assert (later.at_once(RULES), later.delay_s) == (8, 0)


def test_rising_latency_slows_as_a_refusal_does() -> None:
    well = after(*[200] * 20, latency_s=0.2)
    strained = after(*[200] * 20, latency_s=5.0, pace=well)

    assert well.at_once(RULES) == 8
    assert strained.at_once(RULES) < 8


def test_a_host_that_was_always_slow_is_not_slowed_for_it() -> None:
    assert after(*[200] * 50, latency_s=4.0).at_once(RULES) == 8


@pytest.mark.parametrize("told_s, waits_s", [(30, 30), (-5, 1), (10**9, 3600)])
def test_what_retry_after_says_is_kept_within_bounds(told_s: float, waits_s: float) -> None:
    pace = Pace().start(NOW, RULES, 0.5).finish(NOW, RULES, status=429, latency_s=0.1, retry_after_s=told_s)
    assert pace.may_start(NOW, RULES) == waits_s


def test_an_attempt_that_never_reached_the_host_teaches_nothing() -> None:
    assert Pace().start(NOW, RULES, 0.5).finish(NOW, RULES) == Pace(next_at=NOW)
    assert after(404).at_once(RULES) == 8


def test_a_clock_that_was_set_back_does_not_silence_a_host() -> None:
    rules = PaceRules(delay_s=1.0)
    pace = Pace().start(NOW, rules, 0.5).finish(NOW, rules)

    assert pace.may_start(NOW - 86_400, rules) <= 2 * rules.max_delay_s


def test_what_is_under_way_does_not_outlive_the_process() -> None:
    pace = after(429).start(NOW + 100, RULES, 0.5)
    again = Pace.of(json.loads(json.dumps(pace.document())))

    assert again.active == 0
    assert again.document() == pace.document()
    assert Pace.of({}) == Pace()


_STEPS = st.lists(
    st.tuples(st.sampled_from([200, 404, 429, 500, 503, None]), st.floats(0, 10), st.floats(0, 100)), max_size=60
)


@given(_STEPS, st.integers(1, 25), st.floats(0, 5), st.one_of(st.none(), st.floats(0, 1000)))
def test_a_host_is_always_asked_again_and_never_by_more_than_allowed(
    steps: list[tuple[int | None, float, float]], concurrency: int, delay_s: float, crawl_delay_s: float | None
) -> None:
    rules = PaceRules(concurrency, delay_s, crawl_delay_s=crawl_delay_s)
    pace, now, chance = Pace(), NOW, random.Random(1)
    for status, latency_s, told_s in steps:
        now += chance.random()
        wait_s = pace.may_start(now, rules)
        if math.isfinite(wait_s):
            assert 0 <= wait_s <= 3600
            now += wait_s
            pace = pace.start(now, rules, chance.random())
        assert pace.active <= concurrency
        if chance.random() < 0.7:
            pace = pace.finish(now, rules, status=status, latency_s=latency_s, retry_after_s=told_s)
        assert 1 <= pace.at_once(rules) <= concurrency
    while pace.active:
        pace = pace.finish(now, rules)
    assert math.isfinite(pace.may_start(now, rules))
