"""Shapes that older clients use: each is taken, and has its effect."""

import time
from typing import Any

import pytest

from corral.extract.types.convert import convert
from corral.extract.types.model import TypeContext
from tests.engine.crawl.site import Page, serve_site
from tests.stack import Stack


def test_field_maps_as_mappings(stack: Stack) -> None:
    job = stack.job(fields=["title"])
    path = f"/jobs/{job['id']}/field-maps"
    mappings = [
        {"field_name": "title", "selector_spec": "h1", "field_type": "string"},
        {"field_name": "links", "selector_spec": {"css": "li.article a", "attr": "href"}, "field_type": "list"},
        {"field_name": "description"},
    ]
    answer = stack.client.put(path, json={"mappings": mappings})
    assert answer.status_code == 200, answer.text
    told = {each["name"]: each for each in answer.json()["field_maps"]}
    assert (told["title"]["css"], told["title"]["type"]) == ("h1", "string")
    assert (told["links"]["attr"], told["links"]["all"]) == ("href", True)
    tried = stack.client.post(f"{path}/validate", json={"mappings": mappings[:2]})
    assert [each["found"] for each in tried.json()["results"]] == [True, True]
    run = stack.wait_for_end(stack.start(job)["id"])
    [record] = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
    assert (record["data"]["title"], len(record["data"]["links"])) == ("Articles", 10)
    both = {"mappings": mappings, "field_maps": ["title"]}
    for wrong in (both, {}, {"mappings": [{"field_name": "x", "selector_spec": "p["}]}):
        assert stack.client.put(path, json=wrong).status_code == 422
    # Deleting a map keeps the field.
    left = stack.client.delete(f"{path}/title").json()["field_maps"]
    assert (left[0]["name"], left[0]["css"]) == ("title", None)
    assert stack.client.delete(f"{path}/nothing").status_code == 404


def test_values_have_the_type_that_was_asked_for(stack: Stack) -> None:
    html = "<title>x</title><b class=p>1.234,50 EUR</b><i class=n>12</i><u class=w>many</u><a class=a href=/b>b</a>"
    fields = [
        {"name": "price", "css": ".p", "type": "number"},
        {"name": "count", "css": ".n", "type": "integer"},
        {"name": "wrong", "css": ".w", "type": "number"},
        {"name": "page", "css": ".a", "attr": "href", "type": "url"},
    ]
    with serve_site({"/": Page(raw=html + "<p>words</p>" * 50)}) as site:
        job = stack.client.post(
            "/jobs", json={"target_url": f"{site.url}/", "fields": fields, "strategy": "http"}
        ).json()
        run = stack.wait_for_end(stack.start(job, max_attempts=1)["id"])
        [record] = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
        assert record["data"] == {"price": 1234.5, "count": 12, "wrong": None, "page": f"{site.url}/b"}
        assert (run["status"], run["stats"]["problems"]["missing"]) == ("partial", ["wrong"])


@pytest.mark.parametrize(
    "text, number",
    [
        ("$1,234.50", 1234.5),
        ("1.234,50 €", 1234.5),
        ("1 234,5", 1234.5),
        ("12,5 %", 12.5),
        ("1,234", 1234),
        ("1.5", 1.5),
        ("1,234,567", 1234567),
        ("-3", -3),
        ("none", None),
    ],
)
def test_numbers_as_people_write_them(text: str, number: float | None) -> None:
    assert convert(text, "number", TypeContext()).value == number


def _shop() -> dict[str, Page]:
    items = "".join(f'<li><a href="/item/{n}">x</a>' for n in range(3))
    pages = {"/": Page(raw=f"<title>L</title><ul>{items}</ul><p class=next><a href='/2'>2</a><a href='/3'>3</a></p>")}
    for number in (2, 3):
        pages[f"/{number}"] = Page(raw=f"<title>L</title><ul><li><a href='/item/{number}x'>y</a></ul>")
    return pages | {f"/item/{name}": Page() for name in ("0", "1", "2", "2x", "3x")}


@pytest.mark.parametrize(
    "links, following, items",
    [
        ({"xpath": "//li/a"}, {"xpath": "//p/a", "all": True}, 5),
        ({"xpath": "//li/a/@href"}, {"css": "p.next a", "attr": "href"}, 4),
        ({"css": "li a", "attr": "href", "all": False}, None, 1),
    ],
)
def test_links_of_a_list_by_css_or_xpath(stack: Stack, links: Any, following: Any, items: int) -> None:
    with serve_site(_shop()) as site:
        check = {"url": f"{site.url}/", "item_links": links, "max_samples": 5}
        assert stack.client.post("/jobs/list-wizard/validate", json=check).json()["item_count_estimate"] in (1, 3)
        job = stack.client.post("/jobs", json={"target_url": f"{site.url}/", "fields": ["title"]}).json()
        # The mode first, and what belongs to it afterwards.
        changed = stack.client.patch(f"/jobs/{job['id']}", json={"crawl_mode": "list"})
        assert (changed.status_code, changed.json()["crawl_mode"]) == (200, "list")
        early = stack.client.post(f"/jobs/{job['id']}/runs")
        assert (early.status_code, early.json()["error"]["field"]) == (422, "list_config")
        config = {"item_links": links, "pagination": following, "max_pages": 5}
        answer = stack.client.patch(f"/jobs/{job['id']}", json={"list_config": config})
        assert answer.status_code == 200, answer.text
        run = stack.wait_for_end(stack.start(job)["id"])
        records = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
        assert (run["status"], len(records)) == ("completed", items), run
        back = stack.client.patch(f"/jobs/{job['id']}", json={"crawl_mode": "single"})
        assert back.status_code == 200, back.text
        assert stack.wait_for_end(stack.start(job)["id"])["kind"] == "page"
    for wrong in ({"css": "a", "xpath": "//a"}, {"attr": "href"}):
        body = {
            "target_url": stack.site,
            "fields": ["title"],
            "crawl_mode": "list",
            "list_config": {"item_links": wrong},
        }
        assert stack.client.post("/jobs", json=body).status_code == 422


def test_the_root_tells_programs_what_this_is(stack: Stack) -> None:
    told = stack.client.get("/", headers={"accept": "application/json"})
    assert told.headers["content-type"].startswith("application/json")
    assert set(told.json()) == {"name", "version", "status", "docs"}
    for accept in ("text/html,application/json;q=0.9", "*/*"):
        assert "text/html" in stack.client.get("/", headers={"accept": accept}).headers["content-type"]


def test_defaults_hold_for_new_jobs_and_are_kept(stack: Stack) -> None:
    before = stack.client.get("/settings").json()
    assert (before["default_strategy"], before["default_max_attempts"]) == ("auto", 3)
    new = {"default_strategy": "http", "default_timeout": 7.5, "default_priority": "low", "default_max_attempts": 2}
    try:
        assert stack.client.put("/settings", json=new).json() == {**before, **new}
        assert stack.client.get("/settings").json() == {**before, **new}
        job = stack.client.post("/jobs", json={"target_url": stack.site, "fields": ["title"]}).json()
        assert (job["strategy"], job["timeout_s"], job["priority"], job["max_attempts"]) == ("http", 7.5, "low", 2)
        said = {"target_url": stack.site, "fields": ["title"], "strategy": "auto", "priority": "high", "timeout_s": 9}
        job = stack.client.post("/jobs", json=said).json()
        assert (job["strategy"], job["timeout_s"], job["priority"]) == ("auto", 9, "high")
        for wrong in ({"default_strategy": "fast"}, {"default_timeout": 0}, {"unknown": 1}, {"max_concurrent_runs": 0}):
            assert stack.client.put("/settings", json=wrong).status_code == 422
    finally:
        stack.client.put("/settings", json=dict.fromkeys(before))
    assert stack.client.get("/settings").json() == before


def test_so_many_runs_at_once_and_no_more(stack: Stack) -> None:
    pages = {f"/{number}": Page(takes_s=0.3) for number in range(6)}
    with serve_site(pages) as site:
        jobs = [
            stack.client.post(
                "/jobs", json={"target_url": f"{site.url}/{number}", "fields": ["title"], "strategy": "http"}
            ).json()
            for number in range(6)
        ]
        try:
            stack.client.put("/settings", json={"max_concurrent_runs": 1})
            time.sleep(2.5)  # nodes look every two seconds
            site.most_at_once = 0
            runs = [stack.start(job) for job in jobs]
            assert {stack.wait_for_end(run["id"])["status"] for run in runs} == {"completed"}
            assert site.most_at_once == 1
        finally:
            stack.client.put("/settings", json={"max_concurrent_runs": None})
