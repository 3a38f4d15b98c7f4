import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.cost.spent import Spent
from corral.domain.crawl.budgets import budget_used_up, room_in
from corral.domain.crawl.crawl import (
    HOST_BUDGET,
    Bounds,
    Counts,
    CrawlPlan,
    StoppedBy,
    eta_range,
    final_state,
    percent,
)
from corral.domain.crawl.option_values import Order
from corral.domain.crawl.summary import count_omissions
from corral.domain.errors import BadInput
from corral.domain.runs.run import RunState

START = ["https://example.com/"]
COUNTS = st.builds(Counts, *[st.integers(0, 10_000)] * len(Counts._fields))


def plan(**options: Any) -> CrawlPlan:
    return CrawlPlan.of({"start_urls": START, **options})


FULL = {
    "start_urls": ["https://example.com/a", "https://example.org/"],
    "scope": {"mode": "host", "include": ["/a/*"], "exclude": ["/b"], "allowed_domains": ["x.org"]},
    "max_depth": 4,
    "max_pages": 20,
    "max_bytes": 10**9,
    "max_seconds": 1800.5,
    "max_per_host": 10,
    "concurrency": 25,
    "retry_attempts": 5,
    "partial_results_ok": False,
    "order": "best",
    "keywords": ["prices"],
    "respect_robots": False,
    "follow_nofollow": True,
    "obey_noindex": False,
    "use_canonical": False,
    "use_sitemaps": True,
    "keep_params": ["sid"],
    "asked_pages": False,
    "avoid_traps": False,
    "keep_pages": True,
    "strategy": "browser",
    "user_agent": "Me/1.0",
    "delay_s": 0.5,
    "browser_pages": 7,
    "max_scrolls": 3,
    "save_files": True,
    "links": True,
    "workers": 3,
    "since": "01900000-0000-7000-8000-000000000000",
    "fields": [{"name": "title", "css": "h1"}],
    "page_fields": [{"match": "/a/*", "fields": [{"name": "price", "css": "b"}]}],
    "only_fields": True,
    "record_key": ["title"],
    "listing": {"item_links": {"css": "h2 > a"}},
    "budget": {"requests": 100, "cost": 0.5},
    "prices": {"request": 0.001},
    "memory_mib": 64,
}


def test_a_plan_comes_back_from_its_document_with_every_option() -> None:
    full = CrawlPlan.of(FULL)

    assert full.document() == FULL
    assert CrawlPlan.of(json.loads(json.dumps(full.document()))) == full
    assert CrawlPlan.of(plan().document()) == plan()
    unshown = [each.name for each in fields(full) if getattr(full, each.name) == getattr(plan(), each.name)]
    assert unshown == [], "an option that this test does not show"


def test_what_is_left_out_has_a_careful_default() -> None:
    given = plan()

    assert (given.max_depth, given.max_pages, given.concurrency, given.retry_attempts) == (1, 1000, 10, 3)
    assert (given.respect_robots, given.follow_nofollow, given.obey_noindex) == (True, False, True)
    assert given.partial_results_ok
    assert given.order is Order.BREADTH
    assert given.workers == "auto"
    assert given.scope.starts == ("https://example.com/",)


@pytest.mark.parametrize(
    "options, field",
    [
        ({"start_urls": []}, "start_urls"),
        ({"start_urls": "https://example.com/"}, "start_urls"),
        ({"start_urls": ["https://example.com/", "ftp://x"]}, "start_urls[1]"),
        ({"max_depth": 0}, "max_depth"),
        ({"max_depth": 2.5}, "max_depth"),
        ({"max_pages": 0}, "max_pages"),
        ({"max_pages": None}, "max_pages"),
        ({"max_bytes": -1}, "max_bytes"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"max_seconds": float("nan")}, "max_seconds"),
        ({"max_per_host": 0}, "max_per_host"),
        ({"concurrency": 257}, "concurrency"),
        ({"concurrency": True}, "concurrency"),
        ({"retry_attempts": 6}, "retry_attempts"),
        ({"partial_results_ok": 1}, "partial_results_ok"),
        ({"order": "random"}, "order"),
        ({"order": "best", "keywords": "prices"}, "keywords"),
        ({"order": "best", "keywords": [" "]}, "keywords"),
        ({"order": "best", "keywords": ["x"] * 51}, "keywords"),
        ({"keywords": ["prices"]}, "keywords"),
        ({"since": 7}, "since"),
        ({"workers": 0}, "workers"),
        ({"workers": 65}, "workers"),
        ({"workers": True}, "workers"),
        ({"workers": "many"}, "workers"),
        ({"scope": []}, "scope"),
        ({"scope": {"max_depth": 3}}, "scope.max_depth"),
        ({"scope": {"mode": "x"}}, "scope.mode"),
        ({"fields": ["title"]}, "fields"),
        ({"depth": 3}, "depth"),
    ],
)
def test_an_option_that_cannot_be_understood_is_refused_by_name(options: dict[str, Any], field: str) -> None:
    with pytest.raises(BadInput) as caught:
        plan(**options)

    assert caught.value.field == field
    assert caught.value.hint


@pytest.mark.parametrize(
    "options, sharing",
    [
        ({}, (8, 100, 10)),
        ({"concurrency": 3}, (3, 100, 3)),
        ({"workers": 20, "concurrency": 50}, (20, 0, 50)),
        ({"workers": 20, "concurrency": 5}, (5, 0, 5)),
        ({"workers": 1}, (1, 0, 10)),
    ],
)
def test_how_many_share_it_is_bounded_by_how_many_pages_are_read_at_once(
    options: dict[str, Any], sharing: tuple[int, int, int]
) -> None:
    bounds = plan(**options).bounds

    assert (bounds.workers, bounds.pages_each, bounds.concurrency) == sharing


def test_an_edge_may_allow_less_depth() -> None:
    assert CrawlPlan.of({"start_urls": START, "max_depth": 5}, max_depth=5).max_depth == 5
    with pytest.raises(BadInput, match="max_depth"):
        CrawlPlan.of({"start_urls": START, "max_depth": 6}, max_depth=5)
    assert plan(max_depth=100).max_depth == 100


@pytest.mark.parametrize(
    "counts, ran_out, state, useless",
    [
        (Counts(done=5), None, RunState.COMPLETED, RunState.COMPLETED),
        (Counts(done=5, skipped=9), None, RunState.COMPLETED, RunState.COMPLETED),
        (Counts(done=5, failed=1), None, RunState.PARTIAL, RunState.FAILED),
        (Counts(failed=5), None, RunState.FAILED, RunState.FAILED),
        (Counts(), None, RunState.FAILED, RunState.FAILED),
        (Counts(skipped=3), None, RunState.FAILED, RunState.FAILED),
        (Counts(done=5, pending=9), StoppedBy.BUDGET, RunState.COMPLETED, RunState.COMPLETED),
        (Counts(done=5, failed=1, pending=9), StoppedBy.BUDGET, RunState.PARTIAL, RunState.FAILED),
        (Counts(done=5, pending=9), StoppedBy.TIME, RunState.PARTIAL, RunState.FAILED),
        (Counts(done=5), StoppedBy.TIME, RunState.PARTIAL, RunState.FAILED),
        (Counts(pending=9), StoppedBy.TIME, RunState.FAILED, RunState.FAILED),
        (Counts(done=5, pending=9), None, RunState.PARTIAL, RunState.FAILED),
        (Counts(done=5, missing=9), None, RunState.COMPLETED, RunState.COMPLETED),
        (Counts(done=5, deferred=1), None, RunState.PARTIAL, RunState.FAILED),
        (Counts(done=5, deferred=1), StoppedBy.BUDGET, RunState.COMPLETED, RunState.COMPLETED),
    ],
)
def test_the_end_of_a_crawl_is_derived_from_its_items(
    counts: Counts, ran_out: StoppedBy | None, state: RunState, useless: RunState
) -> None:
    assert final_state(counts, ran_out=ran_out) is state
    assert final_state(counts, ran_out=ran_out, partial_results_ok=False) is useless


def test_a_crawl_from_which_a_rule_of_ours_left_something_out_is_not_complete() -> None:
    omitted = count_omissions(
        {"too_deep": 9, "policy:robots": 3, "canonical": 2, "endless_growth": 4, "calendar": 1}, 0
    )
    assert omitted == {"endless_growth": 4, "calendar": 1}
    assert count_omissions({"policy:egress": 1}, 7) == {"policy:egress": 1, "links_dropped": 7}
    assert final_state(Counts(done=5), ran_out=None, left_out=5) is RunState.PARTIAL


@given(COUNTS)
def test_what_was_discovered_is_the_sum(counts: Counts) -> None:
    ended = counts.done + counts.failed + counts.skipped + counts.missing
    assert counts.discovered == counts.pending + counts.leased + counts.deferred + ended


@given(COUNTS, st.integers(1, 10_000))
def test_no_progress_is_beyond_a_hundred_percent(counts: Counts, max_pages: int) -> None:
    told = percent(counts, plan(max_pages=max_pages))

    assert 0 <= told <= 100
    if counts.fetched and not counts.waiting + counts.deferred:
        assert told == 100


def test_progress_is_told_of_what_will_be_fetched() -> None:
    assert percent(Counts(pending=3, done=1, skipped=100), plan()) == 25
    assert percent(Counts(pending=1000, done=10), plan(max_pages=20)) == 50
    assert percent(Counts(), plan()) == 0


def test_the_budget_counts_what_is_under_way() -> None:
    given = plan(max_pages=10, max_bytes=1000)
    assert room_in(given.bounds, Counts(done=5, failed=1, leased=3, pending=50), Spent(size=0)) == 1
    assert room_in(given.bounds, Counts(done=5, failed=1, leased=4, pending=50), Spent(size=0)) == 0
    assert room_in(given.bounds, Counts(done=1), Spent(size=1000)) == 0
    assert room_in(Bounds(), Counts(done=10**9), Spent(size=10**15)) > 10**9


def test_which_budget_was_used_up_is_told() -> None:
    given = plan(max_pages=10, max_bytes=1000)
    assert budget_used_up(given, Counts(done=10, pending=1), 5, {}) == "max_pages"
    assert budget_used_up(given, Counts(done=1, pending=1), 1000, {}) == "max_bytes"
    assert budget_used_up(given, Counts(done=10), 1000, {}) is None, "there was no more"
    assert budget_used_up(given, Counts(done=1), 5, {HOST_BUDGET: 3}) == "max_per_host"


def test_the_time_left_is_a_range() -> None:
    counts = Counts(pending=90, leased=10, done=100)

    assert eta_range(counts, plan(), pages_per_s=0, new_per_page=1) is None
    assert eta_range(counts, plan(), pages_per_s=10, new_per_page=0) == (10, 10)
    assert eta_range(counts, plan(), pages_per_s=10, new_per_page=0.5) == (10, 20)
    assert eta_range(counts, plan(), pages_per_s=10, new_per_page=3) == (10, 90)
    assert eta_range(counts, plan(max_pages=150), pages_per_s=10, new_per_page=3) == (5, 5)
    assert eta_range(counts, plan(max_seconds=60), pages_per_s=10, new_per_page=3, elapsed_s=45) == (10, 15)
    assert eta_range(Counts(done=5), plan(), pages_per_s=10, new_per_page=3) == (0, 0)
    deferred = Counts(pending=100, done=100, deferred=300)
    assert eta_range(deferred, plan(), pages_per_s=10, new_per_page=0) == (10, 40)


@given(COUNTS, st.floats(0.001, 1e4), st.floats(0, 20), st.floats(0, 1e5))
def test_the_range_is_never_inside_out(counts: Counts, rate: float, new_per_page: float, elapsed_s: float) -> None:
    told = eta_range(counts, plan(max_seconds=3600), pages_per_s=rate, new_per_page=new_per_page, elapsed_s=elapsed_s)
    assert told is not None
    assert 0 <= told[0] <= told[1] <= max(0, 3600 - elapsed_s)
