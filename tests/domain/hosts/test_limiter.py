from dataclasses import replace

import pytest

from corral.domain.hosts.breaker import Breaker, BreakerRules, Sign
from corral.domain.hosts.limiter import (
    Answer,
    HostCondition,
    HostRules,
    SitePace,
    Wait,
    host_key_of,
    host_key_of_url,
)
from corral.domain.hosts.pace import Pace, PaceRules
from corral.domain.net.url import parse_target
from corral.domain.runs.outcome import WaitReason

NOW = 1000.0
RULES = HostRules(PaceRules(concurrency=4), BreakerRules(opens_after=2, open_s=300))


@pytest.mark.parametrize(
    "url, host_key",
    [
        ("http://example.com/a", "example.com"),
        ("https://www.Example.com/b?c", "example.com"),
        ("https://example.com:8443/", "example.com:8443"),
        ("http://127.0.0.1:8001/", "127.0.0.1:8001"),
        ("http://[::1]:8001/", "[::1]:8001"),
    ],
)
def test_a_host_key_is_a_host_with_an_unusual_port_and_without_its_www(url: str, host_key: str) -> None:
    assert host_key_of(parse_target(url)) == host_key_of_url(url) == host_key


@pytest.mark.parametrize("url", [None, "", "mailto:x", 7, "http://"])
def test_what_is_no_address_has_no_place(url: object) -> None:
    assert host_key_of_url(url) is None


def test_a_gate_says_what_is_waited_for() -> None:
    free = HostCondition()
    assert free.wait(NOW, RULES) is None
    assert HostCondition(Pace(active=4)).wait(NOW, RULES) == Wait(WaitReason.PACE, float("inf"))
    assert HostCondition(Pace(next_at=NOW + 3)).wait(NOW, RULES) == Wait(WaitReason.PACE, 3)
    assert HostCondition(Pace(blocked_until=NOW + 9)).wait(NOW, RULES) == Wait(WaitReason.RETRY_AFTER, 9)
    is_open = HostCondition(Pace(), Breaker(2, opened_at=NOW - 100))
    assert is_open.wait(NOW, RULES) == Wait(WaitReason.BREAKER, 200)
    # What was learned from failures does not keep the probe; what the host asked for does.
    due = HostCondition(Pace(next_at=NOW + 50), Breaker(2, opened_at=NOW - 300))
    assert due.wait(NOW, RULES) is None
    asked = HostCondition(Pace(blocked_until=NOW + 50), Breaker(2, opened_at=NOW - 300))
    assert asked.wait(NOW, RULES) == Wait(WaitReason.RETRY_AFTER, 50)


@pytest.mark.parametrize(
    "limiter, rules",
    [
        (HostCondition(Pace(delay_s=0.5)), RULES),
        (HostCondition(Pace(allowed=2)), RULES),
        (HostCondition(Pace(blocked_until=NOW + 1)), RULES),
        (HostCondition(Pace(), Breaker(2, opened_at=NOW - 1)), RULES),
        (HostCondition(), replace(RULES, pace=PaceRules(delay_s=1))),
        (HostCondition(), replace(RULES, pace=PaceRules(crawl_delay_s=1))),
    ],
)
def test_a_host_that_is_to_be_spared_is_not_plain(limiter: HostCondition, rules: HostRules) -> None:
    assert HostCondition(Pace(active=4), Breaker(1)).is_plain(NOW, RULES)
    assert not limiter.is_plain(NOW, rules)


def test_answers_change_both_pace_and_breaker_and_not_how_many_are_under_way() -> None:
    limiter = HostCondition(Pace(active=3))
    slowed = limiter.after(Answer(Sign.ILL, 503, 0.1, 20), NOW, RULES)
    assert (slowed.pace.active, slowed.pace.delay_s, slowed.pace.blocked_until) == (3, 0.5, NOW + 20)
    assert slowed.breaker.failures == 1
    assert slowed.after(Answer(Sign.ILL), NOW, RULES).breaker.opened_at == NOW


def test_a_probe_that_went_well_forgets_what_was_learned_from_failures() -> None:
    limiter = HostCondition(
        Pace(active=1, delay_s=60, allowed=1, slowed_at=NOW), Breaker(5, opened_at=0, probed_at=NOW)
    )
    after = limiter.after(Answer(Sign.WELL, 200, 0.1), NOW, RULES, was_probe=True)
    assert after == HostCondition(Pace(active=1))


def test_what_a_person_says_wins_over_the_settings() -> None:
    rules = PaceRules(concurrency=32, delay_s=1, max_delay_s=60)
    said = SitePace(2, 90).over(rules)
    assert (said.concurrency, said.delay_s, said.max_delay_s) == (2, 90, 90)
    assert SitePace().over(rules) == rules
