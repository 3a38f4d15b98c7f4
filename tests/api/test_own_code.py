"""Own code over HTTP: refused unless the installation allows it; in jobs, lists, sites and crawls."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.crawl.site import Page, serve_site
from tests.engine.crawl.tasks import results, submit, wait_for_task
from tests.stack import Stack, corral_up

WORDS = "<p>Words that a reader may like.</p>" * 20
PAGES = {
    "/": Page(raw=f"<title>List</title><h2><a href=/item/1>1</a></h2><h2><a href=/item/2>2</a></h2>{WORDS}"),
    "/item/1": Page(raw=f"<title>One</title><b class=price>12.50</b><a href=/item/3>more</a>{WORDS}"),
    "/item/2": Page(raw=f"<title>Two</title><b class=price>7</b>{WORDS}"),
    "/item/3": Page(raw=f"<title>Three</title><b class=price>9</b>{WORDS}"),
    "/blog/a": Page(raw=f"<title>Post</title>{WORDS}"),
    "/robots.txt": Page(status=404),
}
CODE = {"file": "shop.py", "code": "def parse(page):\n    return {'price': float(page.first('.price').text)}\n"}
FOLLOWS = "def parse(page):\n    yield {'title': page.find('title')}\n    yield page.follow(*page.css('a'))\n"


@pytest.fixture(scope="module")
def allowing(site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder: Path = tmp_path_factory.mktemp("own-code")
    with corral_up(folder, site, APP_ALLOW_OWN_CODE="true") as running:
        yield running


def collect(stack: Stack, job: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    run = stack.wait_for_end(stack.start(job)["id"])
    return run, [record["data"] for record in stack.client.get(f"/jobs/runs/{run['id']}/records").json()]


def create(stack: Stack, url: str, **said: Any) -> dict[str, Any]:
    answer = stack.client.post("/jobs", json={"target_url": url, "strategy": "http", **said})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_own_code_is_refused_unless_the_installation_allows_it(stack: Stack) -> None:
    target = {"target_url": "http://shop.example/", "validate": False}
    patterns = [{"match": "/a/*", "parse": CODE}]
    job = stack.job(validate=False)
    for path, body, field in (
        ("/jobs", {**target, "parse": CODE}, "parse"),
        (
            "/jobs",
            {**target, "crawl_mode": "crawl", "list_config": {"page_fields": patterns}},
            "list_config.page_fields.0.parse",
        ),
        ("/scraping/async-scrape", {"url": "http://shop.example/", "parse": CODE}, "parse"),
        ("/scraping/async-scrape", {"url": "http://shop.example/", "page_fields": patterns}, "page_fields.0.parse"),
    ):
        answer = stack.client.post(path, json=body)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["field"]) == (422, "own_code_refused", field), answer.text
        assert "APP_ALLOW_OWN_CODE" in error["hint"]
    assert stack.client.patch(f"/jobs/{job['id']}", json={"parse": CODE}).status_code == 422
    # Nor hidden among the fields.
    fields = [{"name": "parse()", "code": CODE["code"]}]
    assert stack.client.post("/jobs", json={**target, "fields": fields}).status_code == 422
    assert stack.client.post("/jobs", json={**target, "fields": ["parse()"]}).status_code == 422


def test_a_job_runs_own_code_and_keeps_it_when_its_fields_change(allowing: Stack) -> None:
    with serve_site(PAGES) as site:
        job = create(allowing, f"{site.url}/item/1", parse=CODE)
        assert (job["fields"], job["parse"]) == ([], CODE)
        assert collect(allowing, job)[1] == [{"price": 12.5}]
        job = allowing.client.patch(f"/jobs/{job['id']}", json={"fields": ["title"]}).json()
        assert (job["fields"], job["parse"]) == (["title"], CODE)
        assert collect(allowing, job)[1] == [{"title": "One", "price": 12.5}]
        assert [each["name"] for each in allowing.client.get(f"/jobs/{job['id']}/field-maps").json()["field_maps"]] == [
            "title"
        ]
        checked = allowing.client.post(f"/jobs/{job['id']}/field-maps/validate").json()
        assert [each["name"] for each in checked["results"]] == ["title"], checked
        job = allowing.client.patch(f"/jobs/{job['id']}", json={"parse": None}).json()
        assert (job["fields"], job["parse"]) == (["title"], None)
        assert collect(allowing, job)[1] == [{"title": "One"}]


def test_bad_code_is_refused_with_its_line(allowing: Stack) -> None:
    for code, said in (("def parse(page):\n  x = = 1", "shop.py, line 2"), ("x = 1", "shop.py has no function parse")):
        body = {"target_url": "http://shop.example/", "parse": {"code": code, "file": "shop.py"}, "validate": False}
        error = allowing.client.post("/jobs", json=body).json()["error"]
        assert (error["code"], error["field"], said in error["message"]) == ("own_code", "parse", True), error


def test_an_error_is_in_the_run_and_its_traceback_in_the_events(allowing: Stack) -> None:
    with serve_site(PAGES) as site:
        job = create(allowing, f"{site.url}/blog/a", parse=CODE)
        run, records = collect(allowing, job)
    assert (run["status"], run["failure_code"], run["failure_detail"]) == ("failed", "extraction", "parser")
    assert run["error_message"].startswith("shop.py, line 2, in parse: AttributeError"), run
    assert records == []
    events = allowing.client.get(f"/jobs/runs/{run['id']}/events").json()
    trace = next(each["meta"]["traceback"] for each in events if "traceback" in each["meta"])
    assert trace.splitlines()[1:3] == [
        '  File "shop.py", line 2, in parse',
        "    return {'price': float(page.first('.price').text)}",
    ]


def test_links_need_a_run_that_follows_them(allowing: Stack) -> None:
    with serve_site(PAGES) as site:
        job = create(allowing, f"{site.url}/item/1", parse={"code": FOLLOWS})
        run, _ = collect(allowing, job)
    assert (run["status"], run["failure_detail"]) == ("failed", "parser")
    assert "this run reads one page" in run["error_message"]


def test_a_list_job_follows_the_links_of_own_code_to_further_items(allowing: Stack) -> None:
    with serve_site(PAGES) as site:
        listing = {"crawl_mode": "list", "list_config": {"item_links": "h2 > a"}}
        run, found = collect(allowing, create(allowing, f"{site.url}/", parse={"code": FOLLOWS}, **listing))
    assert run["status"] == "completed", run
    assert sorted(each["title"] for each in found) == ["One", "Three", "Two"]


def test_a_site_has_fields_and_code_per_url_pattern(allowing: Stack) -> None:
    patterns = [{"match": "/item/*", "fields": ["title"], "parse": CODE}, {"match": "/", "fields": ["title"]}]
    with serve_site(PAGES) as site:
        config = {"page_fields": patterns}
        job = create(allowing, f"{site.url}/", crawl_mode="crawl", list_config=config)
        assert job["list_config"]["page_fields"] == patterns
        assert allowing.client.get(f"/jobs/{job['id']}").json()["list_config"]["page_fields"] == patterns
        run, found = collect(allowing, job)
        changed = allowing.client.patch(f"/jobs/{job['id']}", json={"list_config": {"page_fields": patterns[1:]}})
        assert changed.status_code == 200, changed.text
        _, fewer = collect(allowing, changed.json())
    assert run["status"] == "completed", run
    assert sorted((each["title"], each.get("price")) for each in found) == [
        ("List", None),
        ("One", 12.5),
        ("Three", 9.0),
        ("Two", 7.0),
    ]
    assert [each["title"] for each in fewer] == ["List"]


def test_patterns_of_a_job_need_a_site_and_are_checked(stack: Stack) -> None:
    patterns = [{"match": "/item/*", "fields": [{"name": "price", "css": "b["}]}]
    body = {"target_url": "http://shop.example/", "validate": False, "crawl_mode": "crawl"}
    for said, field in (
        ({"list_config": {"page_fields": patterns}}, "list_config.page_fields.0.fields.0"),
        ({"list_config": {"page_fields": [{"match": "/a/*"}]}}, "list_config.page_fields.0.fields"),
        ({"list_config": {"page_fields": [{"match": "a", "fields": ["x"]}]}}, "list_config.page_fields.0.match"),
        (
            {
                "crawl_mode": "list",
                "fields": ["title"],
                "list_config": {"item_links": "a", "page_fields": [{"match": "/a/*", "fields": ["x"]}]},
            },
            "list_config.page_fields",
        ),
    ):
        answer = stack.client.post("/jobs", json={**body, **said})
        assert (answer.status_code, answer.json()["error"].get("field")) == (422, field), answer.text


def test_a_crawl_over_http_runs_own_code(allowing: Stack) -> None:
    with serve_site(PAGES) as site:
        task = submit(allowing, site.url + "/", page_fields=[{"match": "/item/*", "parse": CODE}], only_fields=True)
        assert wait_for_task(allowing, task)["status"] == "completed"
        found = results(allowing, task)["results"]
        again = {"url": site.url + "/", "since": task, "page_fields": [{"match": "/item/*", "parse": CODE}]}
        refused = allowing.client.post("/scraping/async-scrape", json=again)
    assert sorted(each["price"] for each in found) == [7.0, 12.5]
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "since"), refused.text


@pytest.mark.browser
def test_the_browser_gives_the_same_records_after_its_scripts(allowing: Stack) -> None:
    raw = (
        "<title>Late</title><ul id=rows></ul><script>setTimeout(() => { for (const each of ['a', 'b'])"
        " document.getElementById('rows').innerHTML += `<li>${each}</li>` }, 300)</script>"
    )
    code = (
        "def parse(page):\n    rows = page.css('li')\n    assert rows\n    return [{'row': each.text} for each in rows]"
    )
    with serve_site({"/": Page(raw=raw + WORDS), "/robots.txt": Page(status=404)}) as site:
        job = create(allowing, f"{site.url}/", parse={"code": code}, strategy="browser")
        run, found = collect(allowing, job)
    assert run["status"] == "completed", run
    assert sorted(each["row"] for each in found) == ["a", "b"]
