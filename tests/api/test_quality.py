"""What is judged by which thresholds: single pages, crawls without fields, options of a job."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.template import (
    FIELDS,
    HISTORY,
    ITEMS,
    MUTATIONS,
    a_message,
    a_shop,
    add_job,
    an_item,
    build_history,
    list_job,
    records_of,
    run_job,
)
from tests.engine.crawl.site import Site, serve_site
from tests.stack import Stack


@pytest.fixture
def shop() -> Iterator[Site]:
    with serve_site(a_shop(an_item)) as shop:
        yield shop


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_single_page_is_judged(stack: Stack, shop: Site, name: str) -> None:
    job = add_job(stack, shop, "/item/0")
    build_history(stack, shop, job)
    shop.pages.update(a_shop(MUTATIONS[name], seed=90))
    run = run_job(stack, job, max_attempts=1)
    assert run["status"] in ("partial", "failed")
    assert run["status"] == "failed" or run["stats"]["verdict"] in ("suspect", "broken")
    assert len(records_of(stack, job)) == HISTORY


def test_only_a_run_with_a_verdict_can_be_accepted(stack: Stack, shop: Site) -> None:
    run = run_job(stack, add_job(stack, shop, "/item/0"))
    answer = stack.client.post(f"/jobs/runs/{run['id']}/accept")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "nothing_to_accept")
    assert stack.client.post("/jobs/runs/00000000-0000-0000-0000-000000000000/accept").status_code == 404


@pytest.mark.parametrize(
    "quality, status",
    [
        ({"enabled": False}, "completed"),
        ({"ignore": ["price"]}, "completed"),
        ({"min_history": 6}, "completed"),
        ({}, "partial"),
    ],
)
def test_the_thresholds_of_a_job_count(stack: Stack, shop: Site, quality: dict[str, Any], status: str) -> None:
    job = list_job(stack, shop, quality=quality)
    usual = {"enabled": True, "min_history": 5, "drop": 0.3, "ignore": []}
    assert job["quality"] == {**usual, **quality}
    # Fewer records than would count as well, so that the number of runs decides.
    for seed in range(HISTORY):
        shop.pages.update(a_shop(an_item, items=4, seed=seed))
        assert run_job(stack, job)["status"] == "completed"
    shop.pages.update(a_shop(MUTATIONS["currency swapped"], items=4, seed=90))
    assert run_job(stack, job)["status"] == status


def test_a_change_of_the_thresholds_counts_for_later_runs(stack: Stack, shop: Site) -> None:
    job = add_job(stack, shop, "/item/0", quality={"enabled": False})
    changed = stack.client.patch(f"/jobs/{job['id']}", json={"quality": {"min_history": 3}}).json()
    assert changed["quality"] == {"enabled": True, "min_history": 3, "drop": 0.3, "ignore": []}
    build_history(stack, shop, job, runs=3)
    shop.pages.update(a_shop(MUTATIONS["currency swapped"], seed=90))
    assert run_job(stack, job)["status"] == "partial"


def test_the_drop_that_a_job_allows(stack: Stack, shop: Site) -> None:
    job = list_job(stack, shop, quality={"drop": 0.8})
    build_history(stack, shop, job)
    shop.pages["/list"] = a_shop(an_item, items=ITEMS // 2)["/list"]
    assert run_job(stack, job)["status"] == "completed"


@pytest.mark.parametrize(
    "quality, field",
    [
        ({"drop": 2}, "quality.drop"),
        ({"min_history": 0}, "quality.min_history"),
        ({"min_runs": 3}, "quality.min_runs"),
        ({"enabled": "no"}, "quality.enabled"),
        ({"ignore": [""]}, "quality.ignore"),
        ({"ignore": ["prize"]}, "quality.ignore"),
        ("off", "quality"),
    ],
)
def test_a_bad_threshold_is_refused_by_its_name(stack: Stack, shop: Site, quality: Any, field: str) -> None:
    body = {"target_url": f"{shop.url}/item/0", "fields": FIELDS, "quality": quality}
    answer = stack.client.post("/jobs", json=body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


def test_a_crawl_without_fields_is_judged_by_titles_and_texts(stack: Stack, shop: Site) -> None:
    def crawl() -> dict[str, Any]:
        task = stack.client.post("/scraping/async-scrape", json={"url": f"{shop.url}/list"}).json()
        return stack.wait_for_end(task["task_id"])

    for seed in range(HISTORY):
        shop.pages.update(a_shop(an_item, seed=seed))
        assert crawl()["status"] == "completed"
    shop.pages.update(a_shop(a_message("Session ended, start again"), seed=90))
    run = crawl()
    assert run["status"] in ("partial", "failed")
    assert run["stats"]["verdict"] in ("suspect", "broken")
