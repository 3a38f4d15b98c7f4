"""Budgets and costs of jobs over HTTP."""

from tests.stack import Stack


def test_a_budget_ends_a_job_as_partial_and_its_cost_is_known(stack: Stack) -> None:
    job = stack.job("/", crawl_mode="crawl", budget={"requests": 4})
    assert job["budget"] == {"requests": 4}
    run = stack.wait_for_end(stack.start(job)["id"])
    assert run["status"] == "partial", run
    assert run["stats"]["budget"] == "budget.requests"
    assert run["stats"]["left_out"]["budget.requests"] > 0
    [attempt] = run["engine_attempts"]
    assert attempt["spent"]["requests"] == 4

    of_run = stack.client.get(f"/jobs/runs/{run['id']}/cost").json()
    assert of_run["requests"] == 4
    assert of_run["per_record"]["requests"] == round(4 / of_run["records"], 9)
    of_job = stack.client.get(f"/jobs/{job['id']}/cost").json()
    assert (of_job["runs"], of_job["requests"]) == (1, 4)
    of_site = stack.client.get("/sites/127.0.0.1/cost").json()
    assert of_site["requests"] >= 4
    assert stack.client.get("/sites/unknown.example/cost").status_code == 404

    changed = stack.client.patch(f"/jobs/{job['id']}", json={"budget": {"bytes": 10}})
    assert changed.json()["budget"] == {"bytes": 10}


def test_the_cost_of_a_page_counts_every_attempt(stack: Stack) -> None:
    job = stack.job("/articles")
    run = stack.wait_for_end(stack.start(job)["id"])
    cost = stack.client.get(f"/jobs/runs/{run['id']}/cost").json()
    assert cost["requests"] >= 1
    assert cost["bytes"] > 0
    assert cost["records"] == 1


def test_a_budget_that_means_nothing_is_refused(stack: Stack) -> None:
    body = {"target_url": f"{stack.site}/articles", "fields": ["title"]}
    for more, field in (
        ({"budget": {"requests": 0}}, "budget.requests"),
        ({"budget": {"requests": 0}, "crawl_mode": "crawl"}, "budget.requests"),
        ({"budget": {"gold": 1}, "crawl_mode": "crawl"}, "budget.gold"),
    ):
        refused = stack.client.post("/jobs", json={**body, **more})
        assert refused.status_code == 422, refused.text
        assert refused.json()["error"]["field"] == field


def test_a_budget_ends_a_job_of_one_page_as_partial_instead_of_a_retry(stack: Stack) -> None:
    job = stack.job("/broken", validate=False, budget={"requests": 1})
    run = stack.wait_for_end(stack.start(job)["id"])
    assert (run["status"], run["failure_code"], run["failure_detail"]) == ("partial", "limit", "budget"), run
    assert run["stats"]["left_out"] == {"budget.requests": 1}
    assert len(run["engine_attempts"]) == 1
    assert "budget.requests" in run["error_message"]


def test_a_limit_of_the_cost_is_refused_while_every_price_is_0(stack: Stack) -> None:
    for mode in ("single", "crawl"):
        job = stack.job("/articles", budget={"cost": 1}, crawl_mode=mode)
        refused = stack.client.post(f"/jobs/{job['id']}/runs")
        assert refused.status_code == 422, refused.text
        assert refused.json()["error"]["field"] == "budget.cost"
