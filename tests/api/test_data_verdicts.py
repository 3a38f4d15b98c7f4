"""Runs whose data is much worse than that of earlier runs: noticed, kept apart, accepted."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.template import (
    FIELDS,
    HISTORY,
    ITEMS,
    MUTATIONS,
    a_shop,
    an_item,
    build_history,
    list_job,
    records_of,
    run_job,
)
from tests.engine.crawl.site import Page, Site, serve_site
from tests.stack import Stack


@pytest.fixture
def shop() -> Iterator[Site]:
    with serve_site(a_shop(an_item)) as shop:
        yield shop


def test_every_mutation_of_a_list_is_noticed_and_the_records_are_kept_apart(stack: Stack, shop: Site) -> None:
    job = list_job(stack, shop)
    build_history(stack, shop, job)
    shapes: dict[str, dict[str, Page]] = {name: a_shop(render, seed=90) for name, render in MUTATIONS.items()}
    half = a_shop(an_item, seed=91)
    half["/list"] = a_shop(an_item, items=ITEMS // 2)["/list"]
    shapes["half-empty list"] = half
    for name, pages in shapes.items():
        shop.pages.update(pages)
        run = run_job(stack, job, max_attempts=1)
        assert run["status"] in ("partial", "failed"), name
        assert run["stats"]["verdict"] in ("suspect", "broken"), (name, run["stats"])
        assert len(records_of(stack, job)) == HISTORY * ITEMS, name
    shop.pages.update(a_shop(an_item, seed=92))
    good = run_job(stack, job)
    # The broken runs have taught nothing: what was good is still good.
    assert (good["status"], good["stats"]["verdict"]) == ("completed", "ok")
    assert len(records_of(stack, job)) == (HISTORY + 1) * ITEMS


def test_a_verdict_names_the_field_before_and_after(stack: Stack, shop: Site) -> None:
    job = list_job(stack, shop)
    build_history(stack, shop, job)
    shop.pages.update(a_shop(MUTATIONS["field dropped"], seed=90))
    run = run_job(stack, job)
    assert (run["status"], run["stats"]["verdict"]) == ("partial", "broken")
    finding = {"field": "sku", "what": "fill_rate", "before": 1.0, "after": 0.0, "verdict": "broken"}
    assert run["stats"]["verdict_findings"] == [finding]
    messages = stack.messages(run["id"])
    assert messages.index("Data verdict") < messages.index("Run partially completed")
    [event] = [
        each
        for each in stack.client.get(f"/jobs/runs/{run['id']}/events?limit=200").json()
        if each["message"] == "Data verdict"
    ]
    assert (event["level"], event["meta"]) == ("warn", {"verdict": "broken", "findings": [finding]})


def test_records_kept_apart_are_read_with_an_option_and_marked(stack: Stack, shop: Site) -> None:
    job = list_job(stack, shop)
    build_history(stack, shop, job)
    shop.pages.update(a_shop(MUTATIONS["currency swapped"], seed=90))
    run = run_job(stack, job)
    assert (run["status"], run["stats"]["verdict"]) == ("partial", "suspect")
    assert {each["verdict"] for each in records_of(stack, job)} == {None}
    both = records_of(stack, job, withheld=True)
    assert len(both) == (HISTORY + 1) * ITEMS
    assert {each["verdict"] for each in both if each["run_id"] == run["id"]} == {"suspect"}
    of_run = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
    assert [each["verdict"] for each in of_run] == ["suspect"] * ITEMS
    count = stack.client.get("/jobs/records/stats", params={"job_id": job["id"]}).json()
    assert (count["total"], count["runs"]) == (HISTORY * ITEMS, HISTORY)
    refused = stack.client.get(f"/jobs/runs/{run['id']}/export")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "data_withheld")
    assert len(stack.client.get(f"/jobs/runs/{run['id']}/export?withheld=true").json()) == ITEMS


@pytest.mark.parametrize("name", ["currency swapped", "field dropped"])
def test_an_accepted_run_is_ordinary_and_its_shape_is_the_new_one(stack: Stack, shop: Site, name: str) -> None:
    job = list_job(stack, shop)
    build_history(stack, shop, job)
    shop.pages.update(a_shop(MUTATIONS[name], seed=90))
    run = run_job(stack, job)
    accepted = stack.client.post(f"/jobs/runs/{run['id']}/accept").json()
    assert accepted["stats"]["verdict_accepted_at"]
    assert len(records_of(stack, job)) == (HISTORY + 1) * ITEMS
    assert "Data accepted" in stack.messages(run["id"])
    assert stack.client.get(f"/jobs/runs/{run['id']}/export").status_code == 200
    again = stack.client.post(f"/jobs/runs/{run['id']}/accept")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "nothing_to_accept")
    shop.pages.update(a_shop(MUTATIONS[name], seed=91))
    following = run_job(stack, job)
    assert following["stats"]["verdict"] == "ok"


def test_a_crawl_without_a_job_is_judged_by_earlier_crawls_of_the_same_plan(stack: Stack, shop: Site) -> None:
    def crawl(**options: Any) -> dict[str, Any]:
        body = {"url": f"{shop.url}/list", "page_fields": [{"match": "/item/*", "fields": FIELDS}], **options}
        task = stack.client.post("/scraping/async-scrape", json=body).json()
        return stack.wait_for_end(task["task_id"])

    for seed in range(HISTORY):
        shop.pages.update(a_shop(an_item, seed=seed))
        assert crawl()["status"] == "completed"
    shop.pages.update(a_shop(MUTATIONS["currency swapped"], seed=90))
    run = crawl()
    assert (run["status"], run["stats"]["verdict"]) == ("partial", "suspect")
    [finding] = run["stats"]["verdict_findings"]
    assert (finding["template"], finding["field"]) == ("/item/*", "price")
    task = stack.client.get(f"/scraping/tasks/{run['id']}").json()
    assert (task["verdict"], task["verdict_findings"]) == ("suspect", [finding])
    assert stack.client.get(f"/scraping/tasks/{run['id']}/export").status_code == 409
    assert crawl(quality={"enabled": False})["status"] == "completed"
