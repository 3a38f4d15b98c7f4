"""Captchas and missing fields wait for a person where the job says so; jobs are added before their target works."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.cli.command import Corral
from tests.engine.crawl.site import Page, Site, serve_site
from tests.fetch.browsing import needs_chromium
from tests.stack import Stack

CAPTCHA = (
    "<!doctype html><html><head><title>Access to this page has been denied</title></head><body>"
    "<p>Press & Hold to confirm you are a human</p><div id=px-captcha></div></body></html>"
)
GOOD = "<!doctype html><title>Lamp</title><h1>Lamp</h1><p class=cost>9.50</p>" + "<p>Words about a lamp.</p>" * 20


@pytest.fixture
def shop() -> Iterator[Site]:
    with serve_site({"/": Page(raw=CAPTCHA, status=403), "/lamp": Page(raw=GOOD), "/broken": Page(status=503)}) as site:
        yield site


def a_job(stack: Stack, url: str, **more: Any) -> dict[str, Any]:
    body = {"target_url": url, "fields": ["title"], "max_attempts": 2, **more}
    answer = stack.client.post("/jobs", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def find_intervention(stack: Stack, run_id: str) -> dict[str, Any]:
    [found] = [
        each for each in stack.client.get("/interventions?status=open&limit=200").json() if each["run_id"] == run_id
    ]
    return dict(found)


@pytest.mark.browser
@pytest.mark.parametrize("strategy", ["http", "browser"])
def test_a_captcha_waits_for_a_person_and_the_run_goes_on(stack: Stack, shop: Site, strategy: str) -> None:
    needs_chromium()
    job = a_job(stack, f"{shop.url}/", on_captcha="wait", strategy=strategy)
    assert job["on_captcha"] == "wait"
    run = stack.start(job)
    stack.until(run["id"], "waiting_for_human", within_s=60)
    waiting = find_intervention(stack, run["id"])
    assert waiting["kind"] == "captcha"
    assert waiting["screenshot"] is not None  # the browser was tried, whatever the job began with
    shop.pages["/"] = Page(raw=GOOD)
    answer = stack.client.post(f"/interventions/{waiting['id']}/resolve")
    assert answer.json()["run_status"] == "queued", answer.text
    assert stack.wait_for_end(run["id"])["status"] == "completed"


class Guarded(Site):
    """Lets in whoever has the cookie of somebody who solved the captcha."""

    def answer_to(self, path: str, asked: Mapping[str, str]) -> tuple[int, Mapping[str, str], str | bytes]:
        return (200, {}, GOOD) if "solved=yes" in asked.get("cookie", "") else (403, {}, CAPTCHA)


@pytest.mark.browser
@pytest.mark.parametrize("by", ["resolve", "resume"])
def test_the_session_of_a_person_who_solved_the_captcha_is_used(stack: Stack, by: str) -> None:
    needs_chromium()
    cookies = [{"name": "solved", "value": "yes"}]
    with serve_site(Guarded({})) as site:
        job = a_job(stack, f"{site.url}/", on_captcha="wait", strategy="browser")
        run = stack.start(job)
        stack.until(run["id"], "waiting_for_human", within_s=60)
        waiting = find_intervention(stack, run["id"])
        if by == "resolve":
            given = {"session": {"cookies": cookies}}
            stack.client.post(f"/interventions/{waiting['id']}/resolve", json=given).raise_for_status()
        else:
            body = {"job_id": job["id"], "cookies": cookies}
            stack.client.post("/jobs/sessions", json=body).raise_for_status()
            stack.client.post(f"/jobs/runs/{run['id']}/resume").raise_for_status()
        assert stack.wait_for_end(run["id"])["status"] == "completed"


def test_a_captcha_fails_where_nobody_is_asked_for(stack: Stack, shop: Site) -> None:
    job = a_job(stack, f"{shop.url}/", strategy="http", max_attempts=1)
    assert (job["on_captcha"], job["on_missing"]) == ("fail", "fail")
    run = stack.wait_for_end(stack.start(job)["id"])
    assert (run["status"], run["failure_code"], run["failure_detail"]) == ("failed", "blocked", "captcha")


@pytest.mark.parametrize("by", ["resolve", "resume"])
def test_a_missing_field_waits_and_the_corrected_job_is_gone_on_with(stack: Stack, shop: Site, by: str) -> None:
    fields = ["title", {"name": "price", "css": ".price"}]
    job = a_job(stack, f"{shop.url}/lamp", strategy="browser", fields=fields, on_missing="wait")
    run = stack.start(job)
    stack.until(run["id"], "waiting_for_human", within_s=60)
    waiting = find_intervention(stack, run["id"])
    assert (waiting["kind"], "price" in waiting["reason"]) == ("missing_field", True)
    change = {"fields": ["title", {"name": "price", "css": ".cost"}]}
    stack.client.patch(f"/jobs/{job['id']}", json=change).raise_for_status()
    path = f"/interventions/{waiting['id']}/resolve" if by == "resolve" else f"/jobs/runs/{run['id']}/resume"
    stack.client.post(path).raise_for_status()
    assert stack.wait_for_end(run["id"])["status"] == "completed"
    [record] = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
    assert record["data"] == {"title": "Lamp", "price": "9.50"}


def test_a_patch_changes_whether_a_run_waits(stack: Stack, shop: Site) -> None:
    job = a_job(stack, f"{shop.url}/lamp")
    changed = stack.client.patch(f"/jobs/{job['id']}", json={"on_missing": "wait", "on_captcha": "wait"}).json()
    assert (changed["on_missing"], changed["on_captcha"]) == ("wait", "wait")
    for body in ({"on_missing": "ask"}, {"on_captcha": None}, {"on_captcha": "wait", "crawl_mode": "crawl"}):
        assert stack.client.patch(f"/jobs/{job['id']}", json=body).status_code == 422


def test_a_job_is_added_although_its_target_does_not_work_now(stack: Stack, shop: Site) -> None:
    for url in (f"{shop.url}/broken", "http://no-such-host.invalid/"):
        body = {"target_url": url, "fields": ["title"], "strategy": "http", "max_attempts": 1}
        refused = stack.client.post("/jobs", json=body)
        assert (refused.status_code, "validate=false" in refused.json()["error"]["hint"]) == (422, True)
        job = stack.client.post("/jobs", json={**body, "validate": False})
        assert job.status_code == 200, job.text
        change = {"target_url": f"{shop.url}/lamp"}
        stack.client.patch(f"/jobs/{job.json()['id']}", json=change).raise_for_status()
        assert stack.client.patch(f"/jobs/{job.json()['id']}", json={"target_url": url}).status_code == 422
        stack.client.patch(f"/jobs/{job.json()['id']}", json={"target_url": url, "validate": False}).raise_for_status()
    forbidden = {"target_url": "http://10.0.0.1/", "fields": ["title"], "validate": False}
    assert stack.client.post("/jobs", json=forbidden).status_code == 422


def test_the_command_line_adds_such_jobs_too(tmp_path: Any, shop: Site) -> None:
    corral = Corral(tmp_path)
    allowed = {"APP_EGRESS_ALLOW": "127.0.0.0/8:*"}
    arguments = ("job", "add", f"{shop.url}/broken", "--fields", "title")
    refused = corral.here(*arguments, **allowed)
    assert (refused.code, "--no-check" in refused.err) == (1, True)
    added = corral.here(*arguments, "--no-check", "--on-captcha", "wait", "--on-missing", "wait", "--json", **allowed)
    assert added.code == 0, added.err
    assert (added.json["on_captcha"], added.json["on_missing"]) == ("wait", "wait")
