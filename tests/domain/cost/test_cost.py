import pytest

from corral.domain.cost.budget import Budget
from corral.domain.cost.spent import (
    FREE,
    Prices,
    Spent,
    attempt_spent,
    describe_cost,
    find_exceeded,
    run_spent,
)
from corral.domain.crawl.budgets import budget_options, find_stop, room_in
from corral.domain.crawl.crawl import Counts, CrawlPlan, StoppedBy
from corral.domain.errors import BadInput

PRICES = Prices(request=0.001, gb=2.0, browser_hour=3.6, cpu_hour=36.0, proxy_gb=10.0)


def a_plan(**options: object) -> CrawlPlan:
    return CrawlPlan.of({"start_urls": ["http://x.test/"], **options})


def test_money_is_prices_times_what_was_used() -> None:
    spent = Spent(requests=10, size=500_000_000, took_ms=9, browser_ms=10_000, cpu_ms=1_000)
    assert PRICES.cost_of(spent) == pytest.approx(0.01 + 1.0 + 0.01 + 0.01)
    assert PRICES.with_proxy().cost_of(spent) == pytest.approx(0.03 + 6.0)
    assert FREE.cost_of(spent) == 0.0


@pytest.mark.parametrize(
    "limit, spent, is_used_up",
    [
        ({"requests": 10}, Spent(requests=10), True),
        ({"requests": 10}, Spent(requests=9), False),
        ({"bytes": 10}, Spent(size=10), True),
        ({"browser_seconds": 2}, Spent(browser_ms=2_000), True),
        ({"browser_seconds": 2}, Spent(took_ms=9_000), False),
        ({"cost": 0.01}, Spent(requests=10), True),
        ({"cost": 0.01}, Spent(requests=9), False),
    ],
)
def test_a_limit_is_used_up(limit: dict[str, float], spent: Spent, is_used_up: bool) -> None:
    found = find_exceeded(Budget.of(limit), PRICES, spent)
    assert found == (next(iter(limit)) if is_used_up else None)
    plan = a_plan(**budget_options(Budget.of(limit), PRICES))
    assert (room_in(plan.bounds, Counts(pending=5), spent) == 0) is is_used_up


def test_a_used_up_budget_makes_a_crawl_partial_and_names_its_rule() -> None:
    plan = a_plan(budget={"requests": 3})
    stop = find_stop(plan, Counts(done=3, pending=4, deferred=1), Spent(requests=3), {}, None)
    assert stop.ran_out is StoppedBy.BUDGET
    assert stop.stats == {"budget": "budget.requests", "stopped_by": "budget"}
    assert stop.left_out == {"budget.requests": 5}
    assert find_stop(plan, Counts(done=3), Spent(requests=3), {}, None).left_out == {}, "nothing was left"
    timed = a_plan(**budget_options(Budget(seconds=5), FREE))
    assert timed.max_seconds == 5
    late = find_stop(timed, Counts(done=1, pending=1), Spent(), {}, StoppedBy.TIME)
    assert late.left_out == {"budget.seconds": 1}
    asked = find_stop(a_plan(max_pages=3), Counts(done=3, pending=4), Spent(), {}, None)
    assert (asked.stats["budget"], asked.left_out) == ("max_pages", {}), "what was asked for completes a crawl"


def test_pages_under_way_count_for_the_requests_of_a_budget() -> None:
    bounds = a_plan(budget={"requests": 10}).bounds
    assert room_in(bounds, Counts(pending=50, leased=4), Spent(requests=3)) == 3


def test_a_bad_budget_is_refused() -> None:
    for wrong, field in (
        ({"requests": 0}, "budget.requests"),
        ({"bytes": 1.5}, "budget.bytes"),
        ({"euros": 3}, "budget.euros"),
        ({"cost": True}, "budget.cost"),
        ("much", "budget"),
    ):
        with pytest.raises(BadInput) as refused:
            Budget.of(wrong)
        assert refused.value.field == field
    with pytest.raises(BadInput, match="every price is 0"):
        budget_options(Budget(cost=1), FREE)
    with pytest.raises(BadInput, match="prices"):
        a_plan(prices={"gold": 1})


def test_an_attempt_is_measured_and_a_run_adds_its_attempts() -> None:
    http = attempt_spent({"spent": {"requests": 2, "size": 10, "cpu_ms": 3}}, 0.5, in_browser=False)
    browser = attempt_spent({"requests": 7, "bytes": 90}, 2.0, in_browser=True)
    assert http == Spent(2, 10, 500, 0, 3)
    assert browser == Spent(7, 90, 2000, 2000, 0)
    assert run_spent([{"spent": http._asdict()}, {"spent": browser._asdict()}, {}]) == Spent(9, 100, 2500, 2000, 3)


def test_the_cost_of_one_record_is_shown() -> None:
    told = describe_cost(Spent(10, 1000, 2000, 0, 0), PRICES, 4)
    assert (told["requests"], told["seconds"], told["records"]) == (10, 2.0, 4)
    assert told["per_record"]["requests"] == 2.5
    assert told["per_record"]["cost"] == pytest.approx(told["cost"] / 4)
    assert describe_cost(Spent(1), PRICES, 0)["per_record"] is None
