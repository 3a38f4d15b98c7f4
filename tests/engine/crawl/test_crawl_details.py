"""One crawl looked at closely over HTTP, and what is kept of it."""

import time
from datetime import datetime
from typing import Any

from tests.engine.crawl.site import Page, serve_site, tree
from tests.engine.crawl.tasks import UNKNOWN, status, submit, wait_for_task
from tests.stack import Stack


def read(stack: Stack, path: str, **query: Any) -> Any:
    answer = stack.client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_counts_reasons_pages_and_why(stack: Stack) -> None:
    pages = {"/": Page(["/a", "/gone", "/secret"]), "/a": Page(["/b"]), "/b": Page()}
    with serve_site(pages) as site:
        task = submit(stack, f"{site.url}/", exclude=["/secret"])
        wait_for_task(stack, task)
        told = read(stack, f"/scraping/tasks/{task}")
        counts = {"pending": 0, "leased": 0, "done": 2, "failed": 0, "skipped": 2, "missing": 1, "deferred": 0}
        assert told["counts"] == {**counts, "discovered": 5}
        assert {name: told[name] for name in status(stack, task)} == status(stack, task)
        assert (told["url"], told["run_status"], told["plan"]["max_depth"]) == (f"{site.url}/", "completed", 1)
        assert told["bytes"] > 100
        assert told["pages_per_second"] > 0
        assert told["eta_min_seconds"] is None
        reasons = {
            (each["state"], each["reason"]): each["count"] for each in read(stack, f"/scraping/tasks/{task}/reasons")
        }
        assert reasons == {
            ("missing", "http_404"): 1,
            ("skipped", "excluded"): 1,
            ("skipped", "too_deep"): 1,
        }

        def list_pages(state: str, **query: Any) -> list[str]:
            found = read(stack, f"/scraping/tasks/{task}/pages", state=state, **query)
            return [each["url"].removeprefix(site.url) for each in found]

        assert (list_pages("missing"), list_pages("done"), sorted(list_pages("skipped"))) == (
            ["/gone"],
            ["/", "/a"],
            ["/b", "/secret"],
        )
        [first] = read(stack, f"/scraping/tasks/{task}/pages", state="done", limit=1)
        assert list_pages("done", after=first["id"]) == ["/a"]
        found = read(stack, f"/scraping/tasks/{task}/why", url=f"{site.url}/b")
        assert (found["page"]["state"], found["because"]) == ("skipped", "by the rule too_deep")
        assert [each["url"].removeprefix(site.url) for each in found["way"]] == ["/a", "/"]
        unseen = stack.client.get(f"/scraping/tasks/{task}/why", params={"url": f"{site.url}/never"})
        assert (unseen.status_code, "was not seen" in unseen.text) == (404, True)
        assert stack.client.get(f"/scraping/tasks/{task}/why", params={"url": "nonsense"}).status_code == 422
        assert stack.client.get(f"/scraping/tasks/{task}/pages", params={"state": "lost"}).status_code == 422
    for path in ("", "/reasons", "/pages", "/why?url=http://a.test/"):
        assert stack.client.get(f"/scraping/tasks/{UNKNOWN}{path}").status_code == 404


def test_while_it_runs_its_end_is_estimated_as_a_range_within_its_budgets(stack: Stack) -> None:
    pages = tree(width=5, depth=2)
    for path in pages:
        pages[path].takes_s = 0.2
    with serve_site(pages) as site:
        task = submit(stack, f"{site.url}/", max_depth=2, max_pages=20, max_concurrent_articles=2)
        while (told := read(stack, f"/scraping/tasks/{task}"))["completed_items"] < 4:
            time.sleep(0.05)
        assert told["run_status"] == "running"
        assert 0 < told["eta_min_seconds"] <= told["eta_max_seconds"] <= 20 / told["pages_per_second"]
        assert told["forgotten_at"] is None
        stack.client.delete(f"/scraping/tasks/{task}")


def test_a_task_says_when_it_is_forgotten_and_can_be_kept(stack: Stack) -> None:
    with serve_site({"/": Page()}) as site:
        task = submit(stack, f"{site.url}/")
        kept = submit(stack, f"{site.url}/", keep=True)
        for each in (task, kept):
            wait_for_task(stack, each)
    told = read(stack, f"/scraping/tasks/{task}")
    lasts = datetime.fromisoformat(told["forgotten_at"]) - datetime.fromisoformat(told["completed_at"])
    assert (told["kept"], lasts.total_seconds()) == (False, 24 * 3600)
    for keep, body in ((True, None), (False, {"keep": False}), (True, {"keep": True})):
        answer = stack.client.post(f"/scraping/tasks/{task}/keep", json=body)
        assert answer.json() == {"task_id": task, "keep": keep}
        assert read(stack, f"/scraping/tasks/{task}")["kept"] is keep
    assert read(stack, f"/scraping/tasks/{kept}")["forgotten_at"] is None
    assert stack.client.post(f"/scraping/tasks/{task}/keep", json={"keep": "no"}).status_code == 422
    assert stack.client.post(f"/scraping/tasks/{UNKNOWN}/keep").status_code == 404


def test_a_crawl_that_has_ended_can_be_retried_like_any_run(stack: Stack) -> None:
    with serve_site(tree(width=2, depth=1)) as site:
        task = submit(stack, f"{site.url}/")
        wait_for_task(stack, task)
        again = stack.client.post(f"/jobs/runs/{task}/retry").json()
        assert (again["kind"], again["retry_of"]) == ("crawl", task)
        last = wait_for_task(stack, again["id"])
        assert (last["status"], last["completed_items"]) == ("completed", 3)
        assert site.hits["/"] == 2


def test_what_crawls_got_from_a_site_is_told_by_host(stack: Stack) -> None:
    pages = {"/": Page(["/broken", "/slow"]), "/slow": Page(takes_s=0.2), "/broken": Page(status=400)}
    with serve_site(pages) as site:
        found = stack.client.get("/sites/127.0.0.1/statistics")
        before: dict[str, Any] = found.json() if found.status_code == 200 else {"pages_failed": 0, "failed": {}}
        wait_for_task(stack, submit(stack, f"{site.url}/"))
    told = read(stack, "/sites/127.0.0.1/statistics")
    assert told["pages_failed"] == before["pages_failed"] + 1
    assert told["failed"]["bad_response"] == before["failed"].get("bad_response", 0) + 1
    assert told["mean_ms"] > 0
    assert told["bytes"] > 0
    assert 0 < told["error_rate"] < 1
    assert [each["host"] for each in read(stack, "/sites/statistics")] == ["127.0.0.1"]
    assert stack.client.get("/sites/elsewhere.test/statistics").status_code == 404
    assert stack.client.get("/sites/no host/statistics").status_code == 422
