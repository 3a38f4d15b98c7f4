from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from corral.fetch.browser.launch_args import find_chromium, is_sandboxed
from tests.fetch.browsing import needs_chromium
from tests.stack import Stack

UNKNOWN = "01890000-0000-7000-8000-000000000000"


def test_a_job_is_answered_as_it_was_asked_for(stack: Stack) -> None:
    fields = ["title", {"name": "heading", "css": "h1"}]
    job = stack.job("/articles", fields=fields, priority="high", timeout_s=7, max_attempts=2)

    assert job["status"] == "validated"
    assert job["fields"] == fields
    assert (job["priority"], job["timeout_s"], job["max_attempts"]) == ("high", 7, 2)
    assert stack.client.get(f"/jobs/{job['id']}").json() == job


def test_the_defaults_are_those_of_the_contract(stack: Stack) -> None:
    answer = stack.client.post("/jobs", json={"target_url": f"{stack.site}/articles", "fields": ["title"]})
    job = answer.json()
    assert job | {"requires_auth": False, "frequency": "on_demand", "strategy": "auto"} == job
    assert job | {"crawl_mode": "single", "priority": "medium", "max_attempts": 3, "respect_robots": True} == job
    assert job["verify_tls"] is True
    assert job["created_at"].endswith("Z")


def test_a_job_that_takes_any_certificate_says_so_and_so_does_each_of_its_runs(stack: Stack) -> None:
    told = ["Run created", "Certificates are not verified"]
    job = stack.job("/articles", verify_tls=False)
    assert job["verify_tls"] is False
    assert stack.client.get(f"/jobs/{job['id']}").json()["verify_tls"] is False
    run = stack.wait_for_end(stack.start(job)["id"])
    assert stack.messages(run["id"])[:2] == told
    warning = stack.client.get(f"/jobs/runs/{run['id']}/events").json()[1]
    assert (warning["level"], warning["meta"]) == ("warn", {"host": "127.0.0.1"})
    again = stack.client.post(f"/jobs/runs/{run['id']}/retry").json()
    assert stack.messages(stack.wait_for_end(again["id"])["id"])[:2] == told
    assert stack.client.post(f"/jobs/{job['id']}/clone").json()["verify_tls"] is False
    changed = stack.client.patch(f"/jobs/{job['id']}", json={"verify_tls": True}).json()
    assert changed["verify_tls"] is True
    assert told[1] not in stack.messages(stack.wait_for_end(stack.start(job)["id"])["id"])


@pytest.mark.browser
def test_the_dashboard_marks_a_job_that_takes_any_certificate(stack: Stack) -> None:
    needs_chromium()
    plain, marked = stack.job("/articles"), stack.job("/articles", verify_tls=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), chromium_sandbox=is_sandboxed())
        page = browser.new_page()
        page.goto(f"{stack.url}/#/jobs")
        row = page.wait_for_selector(f"tr[data-id='{marked['id']}']", timeout=20_000)
        assert row is not None
        assert "TLS not verified" in row.inner_text()
        other = page.query_selector(f"tr[data-id='{plain['id']}']")
        assert other is not None
        assert "TLS" not in other.inner_text()
        browser.close()


BAD_JOBS: list[tuple[dict[str, Any], str]] = [
    ({"fields": []}, "fields"),
    ({"fields": ["a", "a"]}, "fields.1"),
    ({"fields": ["a", " "]}, "fields.1"),
    ({"fields": ["a\u0000b"]}, "fields.0"),
    ({"fields": [{"name": "a", "css": "div[["}]}, "fields.0"),
    ({"fields": [{"name": "a", "jq": ".a"}]}, "fields.0.jq"),
    ({"fields": "title"}, "fields"),
    ({"target_url": "ftp://example.org/"}, "target_url"),
    ({"target_url": "not a url"}, "target_url"),
    ({"target_url": "http://user:pw@example.org/"}, "target_url"),
    ({"target_url": "http://169.254.169.254/latest"}, "target_url"),
    ({"target_url": "http://no-such-host.invalid/"}, "target_url"),
    ({"target_url": 7}, "target_url"),
    ({"frequency": "sometimes"}, "frequency"),
    ({"frequency": "61 * * * *"}, "frequency"),
    ({"strategy": "magic"}, "strategy"),
    ({"priority": "urgent"}, "priority"),
    ({"max_attempts": 0}, "max_attempts"),
    ({"timeout_s": -1}, "timeout_s"),
    ({"crawl_mode": "list"}, "list_config"),
    ({"crawl_mode": "site"}, "crawl_mode"),
    ({"proxy_policy": "any"}, "proxy_policy"),
    ({"verify_tls": "false"}, "verify_tls"),
    ({"verify_tls": 0}, "verify_tls"),
    ({"executable_path": "/bin/sh"}, "executable_path"),
]


@pytest.mark.parametrize("change, field", BAD_JOBS, ids=[str(change)[:50] for change, _ in BAD_JOBS])
def test_bad_input_names_the_field_and_writes_nothing(stack: Stack, change: dict[str, Any], field: str) -> None:
    before = stack.client.get("/jobs").json()
    body = {"target_url": f"{stack.site}/articles", "fields": ["title"], **change}
    answer = stack.client.post("/jobs", json=body)

    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert error["field"] == field
    assert all(error[key] for key in ("message", "code", "request_id"))
    assert answer.json()["detail"] == error["message"]
    assert stack.client.get("/jobs").json() == before


def test_a_target_that_answers_5xx_is_refused_and_4xx_is_accepted(stack: Stack) -> None:
    body = {"target_url": f"{stack.site}/broken", "fields": ["title"]}
    answer = stack.client.post("/jobs", json=body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "target_url")
    assert stack.job("/missing")["status"] == "validated"


def test_a_job_can_be_changed_cloned_and_deleted(stack: Stack) -> None:
    job = stack.job("/articles")
    changed = stack.client.patch(f"/jobs/{job['id']}", json={"priority": "low", "fields": ["description"]}).json()
    assert (changed["priority"], changed["fields"], changed["strategy"]) == ("low", ["description"], "http")

    copy = stack.client.post(f"/jobs/{job['id']}/clone").json()
    assert copy["id"] != job["id"]
    assert copy["fields"] == ["description"]

    assert stack.client.delete(f"/jobs/{copy['id']}").status_code == 200
    assert stack.client.get(f"/jobs/{copy['id']}").status_code == 404


def test_a_change_that_is_wrong_changes_nothing(stack: Stack) -> None:
    job = stack.job("/articles")
    for change in (
        {"fields": ["a", "a"]},
        {"frequency": "never"},
        {"target_url": "file:///etc/passwd"},
        {"fields": None},
    ):
        assert stack.client.patch(f"/jobs/{job['id']}", json=change).status_code == 422, change
    assert stack.client.get(f"/jobs/{job['id']}").json() == job


def test_a_job_with_a_run_under_way_is_not_deleted(stack: Stack) -> None:
    job = stack.job("/slow?seconds=20")
    run = stack.start(job)
    answer = stack.client.delete(f"/jobs/{job['id']}")
    assert answer.status_code == 409
    stack.client.post(f"/jobs/runs/{run['id']}/cancel")


def test_lists_are_newest_first_and_the_cursor_goes_on_where_the_page_ended(stack: Stack) -> None:
    made = [stack.job("/articles")["id"] for _ in range(5)]
    first = stack.client.get("/jobs?limit=3")
    second = stack.client.get("/jobs", params={"limit": 3, "cursor": first.headers["X-Next-Cursor"]})
    listed = [job["id"] for job in first.json() + second.json()]
    assert listed[:5] == made[::-1]


@pytest.mark.parametrize("path", ["/jobs?limit=0", "/jobs?limit=201", "/jobs?limit=x", "/jobs?cursor=%00", "/jobs/xyz"])
def test_a_malformed_parameter_is_422(stack: Stack, path: str) -> None:
    answer = stack.client.get(path)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] in ("limit", "cursor", "job_id")


def test_unknown_ids_are_404_in_the_same_shape(stack: Stack) -> None:
    for method, path in (
        ("GET", f"/jobs/{UNKNOWN}"),
        ("PATCH", f"/jobs/{UNKNOWN}"),
        ("DELETE", f"/jobs/{UNKNOWN}"),
        ("POST", f"/jobs/{UNKNOWN}/clone"),
        ("POST", f"/jobs/{UNKNOWN}/runs"),
        ("GET", f"/jobs/{UNKNOWN}/runs"),
        ("GET", f"/jobs/runs/{UNKNOWN}"),
        ("POST", f"/jobs/runs/{UNKNOWN}/cancel"),
        ("POST", f"/jobs/runs/{UNKNOWN}/retry"),
        ("GET", f"/jobs/runs/{UNKNOWN}/events"),
        ("GET", f"/jobs/runs/{UNKNOWN}/events/stream"),
        ("GET", f"/jobs/runs/{UNKNOWN}/records"),
        ("DELETE", f"/jobs/records/{UNKNOWN}"),
    ):
        answer = stack.client.request(method, path, json={} if method == "PATCH" else None)
        assert answer.status_code == 404, f"{method} {path}: {answer.text}"
        assert answer.json()["error"]["code"] == "not_found"
