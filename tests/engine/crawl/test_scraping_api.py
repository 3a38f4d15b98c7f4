"""The edge of contract.md §2: long crawls as tasks, over HTTP."""

import re
import time
from typing import Any

import pytest

from tests.engine.crawl.site import Page, serve_site, tree
from tests.engine.crawl.tasks import UNKNOWN, results, status, submit, wait_for_task
from tests.slack import SLACK
from tests.stack import Stack


def test_a_task_from_its_submission_to_its_results(stack: Stack) -> None:
    with serve_site(tree(width=3, depth=2)) as site:
        task = submit(stack, f"{site.url}/", max_depth=2)
        last = wait_for_task(stack, task)
        assert (last["status"], last["progress"], last["completed_items"]) == ("completed", 100.0, 13)
        assert (last["total_items"], last["failed_items"], last["current_item"]) == (13, 0, None)
        assert last["completed_at"] >= last["created_at"]
        assert last["duration_seconds"] > 0
        told = results(stack, task)
        assert set(told) == {"task_id", "status", "results", "summary", "errors", "error_details", "metadata"}
        assert {item["url"].removeprefix(site.url) for item in told["results"]} == set(site.pages)
        assert set(told["results"][0]) == {
            *("url", "title", "text", "full_text", "depth", "source", "timestamp", "word_count", "char_count"),
            *("retry_attempt", "scrape_duration", "http_status"),
        }
        assert told["errors"] is None
        summary = told["summary"]
        assert (summary["results_count"], summary["success_rate"], summary["failed_pages"]) == (13, 100.0, 0)


def test_failed_pages_are_named_where_asked_for(stack: Stack) -> None:
    pages = {"/": Page(["/gone", "/broken"]), "/broken": Page(status=500)}
    with serve_site(pages) as site:
        task = submit(stack, f"{site.url}/", retry_attempts=2)
        assert wait_for_task(stack, task)["status"] == "partial"
        told = results(stack, task, include_errors=True)
        errors = {error["url"].removeprefix(site.url): error for error in told["error_details"]}
        assert any("/broken: " in each for each in told["errors"])
        assert {path: error["http_status"] for path, error in errors.items()} == {"/broken": 500}
        assert told["metadata"]["missing"] == [f"{site.url}/gone"]
        assert told["summary"]["missing_pages"] == 1
        assert errors["/broken"]["attempts"] == 2
        assert told["summary"]["success_rate"] == pytest.approx(100 / 3, abs=0.01)
        failed = submit(stack, f"{site.url}/", retry_attempts=1, partial_results_ok=False)
        assert wait_for_task(stack, failed)["status"] == "failed"


@pytest.mark.parametrize("path, rule", [("/away", "out_of_scope"), ("/quiet", "noindex")])
def test_a_start_page_that_may_not_be_read_is_named_as_the_error(stack: Stack, path: str, rule: str) -> None:
    away = Page(status=302, headers={"location": "http://elsewhere.test/"})
    quiet = Page(head='<meta name=robots content="noindex">')
    with serve_site({"/away": away, "/quiet": quiet}) as site:
        task = submit(stack, f"{site.url}{path}", use_sitemaps=True)
        assert wait_for_task(stack, task)["status"] == "failed"
        [error] = results(stack, task, include_errors=True)["error_details"]
        assert (error["url"], error["error_type"], error["reason"]) == (f"{site.url}{path}", "policy", rule)
        assert rule in error["error"]


def test_results_can_be_read_while_it_runs_and_it_can_be_cancelled_once(stack: Stack) -> None:
    pages = tree(width=5, depth=2)
    for path in pages:
        pages[path].takes_s = 0.2
    with serve_site(pages) as site:
        task = submit(stack, f"{site.url}/", max_depth=2, max_concurrent_articles=1)
        while status(stack, task)["completed_items"] < 2:
            time.sleep(0.05)
        assert results(stack, task)["status"] == "running"
        assert len(results(stack, task)["results"]) >= 2
        [listed] = [run for run in stack.client.get("/jobs/runs").json() if run["id"] == task]
        assert listed["progress"]["done"] >= 2
        assert status(stack, task)["current_item"].startswith(site.url)
        assert stack.client.delete(f"/scraping/tasks/{task}").json()["message"]
        assert wait_for_task(stack, task)["status"] == "cancelled"
        before = status(stack, task)
        assert 0 < before["progress"] < 100
        assert 0 < stack.run(task)["progress"]["percent"] < 100
        [listed] = [run for run in stack.client.get("/jobs/runs").json() if run["id"] == task]
        assert listed["progress"] == stack.run(task)["progress"]
        counts = stack.client.get(f"/scraping/tasks/{task}").json()["counts"]
        assert (counts["leased"], counts["pending"] > 0) == (0, True)
        assert stack.client.delete(f"/scraping/tasks/{task}").status_code == 409
        assert status(stack, task) == before


def test_submission_answers_at_once_while_the_target_hangs(stack: Stack) -> None:
    with serve_site({"/": Page(takes_s=5.0)}) as site:
        began = time.monotonic()
        task = submit(stack, f"{site.url}/")
        assert time.monotonic() - began < 1 * SLACK
        stack.client.delete(f"/scraping/tasks/{task}")


def test_pages_patterns_and_categories_are_kept_to(stack: Stack) -> None:
    pages = {"/": Page(["/news/a", "/sport/b", "/news/c"]), "/news/a": Page(), "/news/c": Page(), "/sport/b": Page()}
    with serve_site(pages) as site:
        wanted: list[tuple[dict[str, Any], set[str]]] = [
            ({"max_pages": 1}, {"/"}),
            ({"include": ["/news/*"]}, {"/", "/news/a", "/news/c"}),
            ({"exclude": ["/news/*"]}, {"/", "/sport/b"}),
            ({"categories": ["sport"]}, {"/", "/sport/b"}),
        ]
        for options, expected in wanted:
            task = submit(stack, f"{site.url}/", **options)
            assert wait_for_task(stack, task)["status"] == "completed"
            found = {item["url"].removeprefix(site.url) for item in results(stack, task)["results"]}
            assert found == expected, options


def test_further_options_change_what_a_task_does(stack: Stack) -> None:
    pages = {
        "/": Page(["/copy", "/quiet", "/prices", "/last"]),
        "/copy": Page(head='<link rel="canonical" href="/last">'),
        "/quiet": Page(head='<meta name=robots content="noindex">'),
        "/prices": Page(),
        "/last": Page(),
        "/listed": Page(),
        "/sitemap.xml": Page(
            raw="<urlset><url><loc>/listed</loc></url></urlset>", headers={"content-type": "text/xml"}
        ),
    }
    with serve_site(pages) as site:
        plain = {"/", "/prices", "/last"}
        wanted: list[tuple[dict[str, Any], set[str]]] = [
            ({}, plain),
            ({"use_canonical": False}, plain | {"/copy"}),
            ({"obey_noindex": False}, plain | {"/quiet"}),
            ({"use_sitemaps": True}, plain | {"/listed"}),
            ({"max_per_host": 1}, {"/"}),
            ({"max_bytes": 1}, {"/"}),
            ({"order": "best", "keywords": ["prices"], "max_pages": 2, "max_concurrent_articles": 1}, {"/", "/prices"}),
        ]
        for options, expected in wanted:
            task = submit(stack, f"{site.url}/", **options)
            assert wait_for_task(stack, task)["status"] == "completed"
            told = results(stack, task)
            assert {item["url"].removeprefix(site.url) for item in told["results"]} == expected, options
            has_budget = bool({"max_per_host", "max_bytes", "max_pages"} & set(options))
            assert told["summary"]["stopped_by"] == ("budget" if has_budget else None), options
        task = submit(stack, f"{site.url}/", since="last")
        assert wait_for_task(stack, task)["status"] == "completed"
        again = results(stack, task)
        assert again["summary"]["changes"]["unchanged"] == 2
        assert {item["change"] for item in again["results"]} == {"new", "unchanged"}


@pytest.mark.parametrize(
    "body, field",
    [
        ({}, "url"),
        ({"url": "ftp://a.test/"}, "url"),
        ({"url": "http://169.254.169.254/"}, "url"),
        ({"url": "http://a.test/", "max_depth": 6}, "max_depth"),
        ({"url": "http://a.test/", "max_depth": 0}, "max_depth"),
        ({"url": "http://a.test/", "categories": []}, "categories"),
        ({"url": "http://a.test/", "timeout_minutes": 4}, "timeout_minutes"),
        ({"url": "http://a.test/", "timeout_minutes": 121}, "timeout_minutes"),
        ({"url": "http://a.test/", "max_concurrent_articles": 26}, "max_concurrent_articles"),
        ({"url": "http://a.test/", "retry_attempts": 6}, "retry_attempts"),
        ({"url": "http://a.test/", "export_format": "xml"}, "export_format"),
        ({"url": "http://a.test/", "partial_results_ok": "yes"}, "partial_results_ok"),
        ({"url": "http://a.test/", "include": ["no slash"]}, "include"),
        ({"url": "http://a.test/", "max_dept": 2}, "max_dept"),
        ({"url": "http://a.test/", "max_bytes": 0}, "max_bytes"),
        ({"url": "http://a.test/", "keywords": ["x"]}, "keywords"),
        ({"url": "http://a.test/", "since": UNKNOWN}, "since"),
        ({"url": "http://a.test/", "allowed_domains": ["a b"]}, "allowed_domains"),
    ],
)
def test_bad_input_is_refused_by_name_and_nothing_is_written(stack: Stack, body: dict[str, Any], field: str) -> None:
    before = stack.client.get("/scraping/tasks").json()
    answer = stack.client.post("/scraping/async-scrape", json=body)
    assert answer.status_code == 422, answer.text
    assert re.split(r"[.\[]", answer.json()["error"]["field"])[0] == field
    assert stack.client.get("/scraping/tasks").json() == before


def test_tasks_are_listed_by_status_newest_first(stack: Stack) -> None:
    with serve_site({"/": Page()}) as site:
        tasks = [submit(stack, f"{site.url}/?{number}") for number in range(2)]
        failed = [wait_for_task(stack, task) for task in tasks]
        listed = stack.client.get("/scraping/tasks", params={"limit": 2}).json()
        assert [task["task_id"] for task in listed] == tasks[::-1]
        assert {task["status"] for task in failed} == {"failed"}
        found = stack.client.get("/scraping/tasks", params={"status_filter": "failed"}).json()
        assert {task["status"] for task in found} == {"failed"}
        assert stack.client.get("/scraping/tasks", params={"status_filter": "held"}).status_code == 422


def test_what_is_no_task_is_not_found(stack: Stack) -> None:
    for path in (f"/scraping/tasks/{UNKNOWN}/status", f"/scraping/tasks/{UNKNOWN}/results"):
        assert stack.client.get(path).status_code == 404
    assert stack.client.delete(f"/scraping/tasks/{UNKNOWN}").status_code == 404


def test_health_and_capacity(stack: Stack) -> None:
    pages = {f"/{number}": Page(takes_s=3.0) for number in range(6)}
    with serve_site(pages) as site:
        tasks = [submit(stack, f"{site.url}{path}") for path in pages]
        time.sleep(1.0)
        told = stack.client.get("/scraping/status").json()
        assert (told["service"], told["status"]) == ("scraping", "operational")
        now = told["orchestrator"]
        assert (now["status"], now["active_tasks"], now["available_task_slots"]) == ("at_capacity", 5, 0)
        assert now["task_status_distribution"]["pending"] == 1
        assert now["total_tasks"] >= 6
        for task in tasks:
            stack.client.delete(f"/scraping/tasks/{task}")
        now = stack.client.get("/scraping/status").json()["orchestrator"]
        assert (now["active_tasks"], now["max_concurrent_tasks"]) == (0, 5)
        assert now["error_statistics"]["cancelled_tasks"] >= 6
        assert 0 <= now["error_rate"] <= 1


def test_a_crawl_is_a_run_like_any_other(stack: Stack) -> None:
    pages = tree(width=4, depth=1)
    for path in pages:
        pages[path].takes_s = 0.2
    with serve_site(pages) as site:
        task = submit(stack, f"{site.url}/", max_concurrent_articles=1)
        while (run := stack.run(task))["progress"]["done"] < 2:
            time.sleep(0.05)
        assert (run["kind"], run["status"], run["progress"]["total"]) == ("crawl", "running", 5)
        assert 0 < run["progress"]["percent"] < 100
        assert stack.client.post(f"/jobs/runs/{task}/pause").json()["status"] == "paused"
        assert status(stack, task)["status"] == "pending"
        assert stack.client.post(f"/jobs/runs/{task}/resume").json()["status"] == "queued"
        assert wait_for_task(stack, task)["status"] == "completed"
        done: dict[str, Any] = {"total": 5, "done": 5, "failed": 0, "skipped": 0, "missing": 0, "deferred": 0}
        done |= {"percent": 100.0, "eta_s": None}
        assert stack.run(task)["progress"] == done
        [listed] = [each for each in stack.client.get("/jobs/runs?limit=200").json() if each["id"] == task]
        assert listed["progress"] == done
        assert stack.messages(task)[0] == "Run created"
