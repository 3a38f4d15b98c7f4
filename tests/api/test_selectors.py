"""Fields by XPath and JSON path, and XML: from the request to the record, at the demo site."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.stack import Stack, corral_up


@pytest.fixture(scope="module")
def stack(site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One installation: fields are one document to every database."""
    with corral_up(tmp_path_factory.mktemp("selectors"), site) as running:
        yield running


def collect(stack: Stack, path: str, *fields: dict[str, Any]) -> dict[str, Any]:
    job = stack.job(path, fields=list(fields))
    assert job["fields"] == list(fields)
    run = stack.wait_for_end(stack.start(job)["id"])
    assert run["status"] == "completed", run
    [record] = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
    return dict(record["data"])


def test_a_page_by_xpath(stack: Stack) -> None:
    found = collect(
        stack,
        "/articles",
        {"name": "heading", "xpath": "//h1"},
        {"name": "links", "xpath": "//li[@class='article']//a/@href", "all": True},
        {"name": "count", "xpath": "count(//li[@class='article'])"},
        {"name": "first", "xpath": "//li//a", "attr": "href", "regex": "/articles/(.+)"},
    )
    assert (found["heading"], found["count"], len(found["links"])) == ("Articles", 10, 10)
    assert found["links"][0] == f"{stack.site}/articles/{found['first']}"


def test_a_sitemap_by_every_way(stack: Stack) -> None:
    found = collect(
        stack,
        "/sitemap.xml",
        {"name": "css", "css": "url > loc"},
        {"name": "xpath", "xpath": "/urlset/url/loc"},
        {"name": "all", "xpath": "//loc", "all": True},
        {"name": "count", "xpath": "count(//url)"},
    )
    assert found["css"] == found["xpath"] == found["all"][0] == f"{stack.site}/"
    assert found["count"] == len(found["all"]) > 60


def test_a_json_answer_by_path(stack: Stack) -> None:
    found = collect(
        stack,
        "/api/products?page=1",
        {"name": "total", "jsonpath": "$.total"},
        {"name": "ids", "jsonpath": "$.items[*].id", "all": True},
        {"name": "last", "jsonpath": "$.items[-1]['id']"},
        {"name": "next", "jsonpath": "$.next", "regex": r"page=(\d+)"},
    )
    assert found["total"] > len(found["ids"]) > 1
    assert (found["ids"][0], found["last"], found["next"]) == (1, found["ids"][-1], "2")


LONG = "a" * 1_001
REFUSED: list[tuple[dict[str, Any], str, str, str]] = [
    ({"css": "p[", "all": True}, "fields.1", "bad_selector", "position 1"),
    ({"css": "a::attr(href)"}, "fields.1", "bad_selector", "position 1"),
    ({"css": LONG}, "fields.1", "bad_selector", "more than 1000"),
    ({"css": "a" * 1_000_000}, "fields.1", "bad_selector", "1000000 characters"),
    ({"xpath": "//p["}, "fields.1", "bad_selector", "position 4"),
    ({"xpath": "document('/etc/passwd')"}, "fields.1", "bad_selector", "position 0: unknown function 'document'"),
    ({"xpath": "//a[unparsed-text('x')]"}, "fields.1", "bad_selector", "position 4: unknown function"),
    ({"xpath": LONG}, "fields.1", "bad_selector", "more than 1000"),
    ({"xpath": "a" * 1_000_000}, "fields.1", "bad_selector", "1000000 characters"),
    ({"jsonpath": "$.a["}, "fields.1", "bad_selector", "position 3"),
    ({"jsonpath": "$" + LONG}, "fields.1", "bad_selector", "more than 1000"),
    ({"jsonpath": "$.a", "regex": "(a"}, "fields.1.regex", "bad_pattern", "position 0"),
    ({"css": "p", "xpath": "//p"}, "fields.1", "bad_selector", "css and xpath"),
    ({"selector": "p", "jsonpath": "$.p"}, "fields.1", "bad_selector", "css and jsonpath"),
    ({"xpath": "//p", "jsonpath": "$.p"}, "fields.1", "bad_selector", "xpath and jsonpath"),
    ({"css": "p", "xpath": "//p", "jsonpath": "$.p"}, "fields.1", "bad_selector", "css and xpath and jsonpath"),
    ({"jsonpath": "$.p", "attr": "href"}, "fields.1", "bad_selector", "attr"),
    ({"attr": "href"}, "fields.1", "bad_input", "attr"),
    ({"xpath": ""}, "fields.1.xpath", "bad_input", ""),
    ({"jq": "env"}, "fields.1.jq", "bad_input", ""),
]


@pytest.mark.parametrize("recipe, field, code, said", REFUSED, ids=[str(each[0])[:40] for each in REFUSED])
def test_what_cannot_be_looked_up_is_refused(
    stack: Stack, recipe: dict[str, Any], field: str, code: str, said: str
) -> None:
    body = {"target_url": f"{stack.site}/articles", "fields": ["title", {"name": "f", **recipe}]}
    answer = stack.client.post("/jobs", json=body)
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert (error["field"], error["code"]) == (field, code), error
    assert said in error["message"]
    assert error.get("hint") or code == "bad_input"


def test_looks_and_field_maps_know_them(stack: Stack) -> None:
    def look(path: str, **spec: Any) -> dict[str, Any]:
        body = {"url": stack.site + path, "selector_spec": spec}
        answer = stack.client.post("/jobs/validate-selector", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    page = look("/articles", xpath="//li[@class='article']", all=True)
    assert (page["match_count_estimate"], len(page["value_preview"]), page["warnings"]) == (10, 10, [])
    assert page["selector_spec"]["xpath"] == "//li[@class='article']"
    assert look("/sitemap.xml", css="loc")["value_preview"] == f"{stack.site}/"
    answer = look("/api/products?page=1", jsonpath="$.items[*].id", all=True)
    assert answer["value_preview"][:2] == ["1", "2"]
    assert answer["match_count_estimate"] == len(answer["value_preview"])
    assert look("/api/products?page=1", jsonpath="$.items[0]")["value_preview"].startswith('{"id": 1')
    assert "not JSON" in look("/articles", jsonpath="$.a")["warnings"][0]
    assert "nothing on the page" in look("/articles", xpath="//video")["warnings"][0]

    job = stack.job(fields=["title"])
    maps = f"/jobs/{job['id']}/field-maps"
    put = [{"name": "heading", "xpath": "//h1"}, {"name": "n", "jsonpath": "$.n"}]
    assert stack.client.put(maps, json={"field_maps": put}).status_code == 200
    read = stack.client.get(maps).json()
    assert [each["xpath"] for each in read["field_maps"]] == [None, "//h1", None]
    assert stack.client.put(maps, json=read).status_code == 200
    tried = stack.client.post(f"{maps}/validate").json()["results"]
    assert [each["found"] for each in tried] == [True, True, False]
    refused = stack.client.put(maps, json={"field_maps": [{"name": "heading", "xpath": "//h1["}]})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "field_maps.0")
    assert "'heading': the XPath expression cannot be read at position 5" in refused.json()["error"]["message"]
