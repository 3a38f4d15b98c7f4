"""Checks, scores, uses, choice, tiers and refreshes: decisions over values."""

from collections import Counter
from dataclasses import replace

import pytest

from corral.domain.net.pool_policy import Tier
from corral.domain.proxies.checking import ProxyCheck, anonymity_of, apply_check, score_of
from corral.domain.proxies.choice import LeaseRequest, SiteRecord, choose, choose_tier
from corral.domain.proxies.config import TierPrice, parse_config
from corral.domain.proxies.echo import build_echo_page, read_echo
from corral.domain.proxies.pooled import Anonymity, PooledProxy, ProxyState
from corral.domain.proxies.refresh import RefreshStatus, StoredRefresh, progress_of, split, wait_limit_s
from corral.domain.proxies.use import ProxyUse, Verdict, count_use, judge
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, WaitReason
from corral.domain.runs.run import RunState


def alive(number: int = 1, score: float = 50.0, **more: object) -> PooledProxy:
    return replace(
        PooledProxy(number, f"http://h{number}:1", state=ProxyState.ALIVE, score=score),
        **more,  # type: ignore[arg-type]
    )


FAULT = ProxyUse(1, "site", Tier.DATACENTRE, Verdict.FAULT, "refused")
GOOD = ProxyUse(1, "site", Tier.DATACENTRE, Verdict.GOOD)


def test_the_third_failure_in_a_row_takes_a_proxy_out_and_a_success_between_starts_anew() -> None:
    proxy = count_use(count_use(alive(), FAULT, 0.0), FAULT, 0.0)
    assert proxy.is_usable
    again = count_use(count_use(count_use(proxy, GOOD, 0.0), FAULT, 0.0), FAULT, 0.0)
    assert again.is_usable
    out = count_use(proxy, FAULT, 100.0)
    assert (out.state, out.cooled_until, out.uses, out.problem) == (ProxyState.COOLING, 160.0, 3, "refused")


def test_a_site_that_refuses_a_proxy_does_not_take_it_out() -> None:
    proxy = alive()
    for _ in range(5):
        proxy = count_use(proxy, replace(GOOD, verdict=Verdict.REFUSED), 0.0)
    assert proxy.is_usable
    assert count_use(proxy, replace(GOOD, verdict=Verdict.SUSPECT), 0.0) == proxy


def test_a_good_check_brings_a_proxy_back_and_a_bad_one_doubles_its_cool_down() -> None:
    out = alive(state=ProxyState.COOLING, failures=3, cooled_until=60.0)
    back = apply_check(out, ProxyCheck(1, latency_ms=100, anonymity=Anonymity.ELITE), 61.0)
    assert (back.state, back.failures, back.cooled_until) == (ProxyState.ALIVE, 0, None)
    first = apply_check(out, ProxyCheck(1, "refused"), 100.0)
    second = apply_check(first, ProxyCheck(1, "refused"), 300.0)
    assert (first.state, first.cooled_until, second.cooled_until) == (ProxyState.DEAD, 220.0, 540.0)


def test_scores_fall_with_latency_and_with_what_the_target_sees() -> None:
    def score(**more: object) -> float:
        return score_of(replace(ProxyCheck(1, latency_ms=0, anonymity=Anonymity.ELITE), **more))  # type: ignore[arg-type]

    assert score() == 100
    assert score(latency_ms=1000) == 50
    assert score() > score(anonymity=Anonymity.ANONYMOUS) > score(anonymity=Anonymity.TRANSPARENT) > 0
    assert score(reaches_target=False) < score(has_tls=False) < 100
    assert score(problem="dead") == 0


def test_anonymity_is_what_the_target_sees() -> None:
    assert anonymity_of("1.1.1.1", {}, "9.9.9.9") is Anonymity.ELITE
    assert anonymity_of("1.1.1.1", {"Via": "squid"}, "9.9.9.9") is Anonymity.ANONYMOUS
    assert anonymity_of("1.1.1.1", {"X-Forwarded-For": "9.9.9.9"}, "9.9.9.9") is Anonymity.TRANSPARENT
    assert anonymity_of(None, {}, None) is Anonymity.UNKNOWN


def test_any_change_of_the_echo_page_shows() -> None:
    page = build_echo_page("1.1.1.1", {"via": "<&>"}, "abc")
    echo = read_echo(page, "abc")
    assert echo is not None
    assert (echo.address, echo.headers) == ("1.1.1.1", {"via": "<&>"})
    assert read_echo(page, "other") is None
    assert read_echo(page.replace(b"</body>", b"<script></script></body>"), "abc") is None
    assert read_echo(b'{"origin": "2.2.2.2, 3.3.3.3", "headers": {"Via": "x"}}', "abc") is not None
    assert read_echo(b"<html>ad</html>", "abc") is None


def test_the_choice_follows_scores_and_what_a_site_thinks_of_each() -> None:
    pool = [alive(1, 90), alive(2, 10), alive(3, 90, tier=Tier.RESIDENTIAL)]
    request = LeaseRequest("site", (Tier.DATACENTRE,))
    chances = [number / 1000 for number in range(1000)]

    def share(records: dict[int, SiteRecord]) -> Counter[int]:
        found = [choose(pool, request, records, 0.0, lambda chance=chance: chance) for chance in chances]  # type: ignore[misc]
        return Counter(each.id for each in found if each is not None)

    assert share({}) == {1: 900, 2: 100}
    assert share({1: SiteRecord(0, 20)})[2] > 800
    assert choose(pool, replace(request, exclude=(1, 2)), {}, 0.0, lambda: 0.5) is None


def test_sticky_keys_keep_their_proxy_when_others_come_and_go() -> None:
    pool = [alive(number) for number in range(1, 9)]

    def proxies(candidates: list[PooledProxy], records: dict[int, SiteRecord] | None = None) -> dict[str, int]:
        keys = [f"job {number}" for number in range(40)]
        chosen = {key: choose(candidates, LeaseRequest("s", key=key), records or {}, 0.0, lambda: 0.0) for key in keys}
        return {key: each.id for key, each in chosen.items() if each is not None}

    before = proxies(pool)
    assert len(set(before.values())) > 4
    fewer = proxies(pool[1:])
    assert {key for key in before if before[key] != fewer[key]} == {key for key in before if before[key] == 1}
    assert 1 not in proxies(pool, {1: SiteRecord(0, 5)}).values()


def test_a_tier_is_passed_over_on_evidence_and_tried_again_when_that_has_faded() -> None:
    tiers = tuple(Tier)
    assert choose_tier(tiers, {}, 0.0, None) is Tier.DIRECT
    refused = {Tier.DIRECT: SiteRecord(0, 4)}
    assert choose_tier(tiers, refused, 0.0, None) is Tier.DATACENTRE
    assert choose_tier(tiers, refused, 3 * 3600.0, None) is Tier.DIRECT
    assert choose_tier(tiers, {}, 0.0, Tier.DATACENTRE) is Tier.RESIDENTIAL
    assert choose_tier(tiers, {tier: SiteRecord(0, 9) for tier in tiers}, 0.0, None) is Tier.RESIDENTIAL


@pytest.mark.parametrize(
    "outcome, plain, tls",
    [
        (Fetched(), Verdict.GOOD, Verdict.GOOD),
        (Failed(FailureCode.NETWORK, "", "proxy"), Verdict.FAULT, Verdict.FAULT),
        (Failed(FailureCode.EXTRACTION, "", "shape_changed"), Verdict.NOTHING, Verdict.NOTHING),
        (Fetched({"spent": {"requests": 0}}), Verdict.NOTHING, Verdict.NOTHING),
        (Failed(FailureCode.NETWORK, "", "proxy", stats={"proxy_refusal": "502"}), Verdict.SUSPECT, Verdict.SUSPECT),
        (Failed(FailureCode.NETWORK, "", "no_proxy"), Verdict.NOTHING, Verdict.NOTHING),
        (Failed(FailureCode.TIMEOUT, "", "first_byte"), Verdict.SUSPECT, Verdict.SUSPECT),
        (Failed(FailureCode.POLICY, "", "egress"), Verdict.SUSPECT, Verdict.NOTHING),
        (Failed(FailureCode.POLICY, "", "robots"), Verdict.NOTHING, Verdict.NOTHING),
        (Failed(FailureCode.BLOCKED, "", None, 403), Verdict.REFUSED, Verdict.REFUSED),
        (Failed(FailureCode.BAD_RESPONSE, "", None, 502), Verdict.SUSPECT, Verdict.GOOD),
        (Failed(FailureCode.BAD_RESPONSE, "", None, 404), Verdict.GOOD, Verdict.GOOD),
        (Failed(FailureCode.EXTRACTION, "", "fields_missing", stats={"http_status": 200}), Verdict.GOOD, Verdict.GOOD),
        (Deferred("h", WaitReason.PACE, 1.0), Verdict.NOTHING, Verdict.NOTHING),
    ],
)
def test_what_an_outcome_says_about_its_proxy(outcome: Fetched, plain: Verdict, tls: Verdict) -> None:
    assert (judge(outcome, verifies_tls=False), judge(outcome, verifies_tls=True)) == (plain, tls)


Q, R, C, F = RunState.QUEUED, RunState.RUNNING, RunState.COMPLETED, RunState.FAILED


@pytest.mark.parametrize(
    "state, chunks, status, completed",
    [
        (R, None, RefreshStatus.DISPATCHED, 0),
        (C, (Q, Q), RefreshStatus.DISPATCHED, 0),
        (C, (R, Q), RefreshStatus.PROCESSING, 0),
        (C, (C, Q), RefreshStatus.PROCESSING, 1),
        (R, (C, C), RefreshStatus.PROCESSING, 2),
        (C, (C, F), RefreshStatus.COMPLETE, 2),
        (C, (F, F), RefreshStatus.FAILED, 2),
        (F, None, RefreshStatus.FAILED, 0),
    ],
)
def test_the_progress_of_a_refresh(
    state: RunState, chunks: tuple[RunState, ...] | None, status: RefreshStatus, completed: int
) -> None:
    progress = progress_of(StoredRefresh("id", 1.0, state, chunks))
    assert (progress.status, progress.completed_chunks) == (status, completed)


def test_the_time_limit_of_a_wait_follows_from_chunks_and_workers() -> None:
    assert wait_limit_s(0, 8, 30.0) == 1800
    assert wait_limit_s(40, 8, 30.0) == 5 * 30 * 1.5
    assert wait_limit_s(41, 8, 30.0) == 6 * 30 * 1.5
    assert [len(chunk) for chunk in split(list(range(501)))] == [250, 250, 1]


def test_every_problem_of_the_configuration_is_named() -> None:
    config = parse_config(
        {
            "sources": [{"file": "a"}, {"url": "ftp://x"}, {"command": "rm -rf"}, {"file": "a", "tier": "gold"}, {}],
            "check": {"judge": "nowhere", "speed": 1},
            "tiers": {"gold": {"cost_per_gb": 1}, "datacentre": {"cost_per_gb": 0.5}, "direct": {"cost_per_hour": 1}},
            "sites": {"www.Example.com": "pool", "other.test": "http://user:canary@h:1"},
            "more": 1,
            "export": {"file": 5},
        }
    )
    assert len(config.problems) == 11
    assert "canary" not in str(config.problems)
    assert config.costs == {Tier.DATACENTRE: TierPrice(gb=0.5)}
    assert (config.policy_for("shop.example.com"), config.policy_for("example.org")) == ("pool", None)


def test_the_name_of_a_source_hides_its_key() -> None:
    config = parse_config({"sources": [{"url": "https://p.test/list?api_key=canary-of-a-source"}]})
    assert "canary" not in config.sources[0].name
