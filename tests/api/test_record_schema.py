"""The schema of a job's records is valid JSON Schema, and what is exported matches it."""

import json
from typing import Any

import jsonschema_rs
import pytest

from tests.engine.crawl.site import Page, serve_site
from tests.stack import Stack

_ROWS = "".join(f"<tr><td class=n>{number}</td><td class=w>{'w' * number}</td></tr>" for number in range(1, 4))
PAGE = f"""<!doctype html><html lang=en><head><title>Chair</title>
<script type="application/ld+json">{{"@context":"https://schema.org","@type":"Product","name":"Chair","sku":"C-1",
"offers":{{"@type":"Offer","price":"12.50","priceCurrency":"EUR"}},"author":[{{"@type":"Person","name":"Ann Lee"}}]}}
</script></head><body><main><h1>Chair</h1><p class=price>12,345.50 EUR</p><p class=when>2026-01-03T15:15:00</p>
<p class=day>3 May 2026</p>
<p class=stars>4.5 of 5</p><p class=path>Home &gt; Chairs &gt; Blue</p><a class=tel href="tel:+4930123456">call</a>
<p class=addr>Hauptstr. 5, 10115 Berlin</p><p class=who>Dr. Jane Doe</p><p class=yes>yes</p><p class=took>1:20:05</p>
<i class=tag>a</i><i class=tag>b</i><p class=share>12.5 %</p><table>{_ROWS}</table></main>
{"<p>Words.</p>" * 30}</body></html>"""


def _field(name: str, css: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "css": css, "type": kind, **more}


FIELDS: list[Any] = [
    *("title", "author", "sku", "price"),
    {"name": "heading", "css": "h1", "rules": {"required": True, "min_length": 2, "allowed": ["Chair", "Table"]}},
    {"name": "tags", "css": ".tag", "all": True, "rules": {"required": True, "pattern": "^[a-z]$"}},
    {"name": "nothing", "css": ".zzz", "optional": True},
    {"name": "none_of_many", "css": ".zzz", "all": True, "optional": True},
    {"name": "shop", "const": 7},
    {"name": "kind", "css": ".zzz", "fallbacks": [{"const": 5}]},
    *({"name": f"page_{fact}", "page": fact} for fact in ("url", "requested_url", "time", "status")),
    {"name": "json", "css": ".zzz", "optional": True, "fallbacks": [{"bare": "name"}]},
    {"name": "joined", "css": ".tag", "join": ", "},
    {"name": "last", "css": ".tag", "nth": -1},
    {"name": "day_digits", "regex": "([0-9]) May"},
    _field("cost", ".price", "money", rules={"min": 1, "max": 20000}),
    _field("amount", ".price", "decimal"),
    _field("number", ".price", "number", rules={"min": 1}),
    _field("whole", "td.n", "integer"),
    _field("wholes", "td.n", "integer", all=True, rules={"max": 3}),
    _field("percent", ".share", "percentage"),
    _field("day", ".day", "date", rules={"min": "2026-01-01"}),
    _field("at", ".when", "datetime"),
    _field("clock", ".when", "time"),
    _field("took", ".took", "duration"),
    _field("is_there", ".yes", "boolean"),
    _field("phone", ".tel", "phone", attr="href"),
    _field("address", ".addr", "address"),
    _field("name", ".who", "name"),
    _field("stars", ".stars", "rating", rules={"min": 1}),
    _field("path", ".path", "category"),
    _field("paths", ".path", "category", all=True),
    _field("tag_list", ".tag", "list"),
    _field("markup", "main", "html"),
    _field("lines", "main", "text"),
    {
        "name": "rows",
        "css": "tr",
        "all": True,
        "fields": [
            _field("n", ".n", "integer"),
            {"name": "w", "css": ".w"},
            {"name": "z", "css": ".z", "optional": True},
        ],
    },
    {"name": "first_row", "css": "tr", "fields": [{"name": "w", "css": ".w"}]},
]
MODES: dict[str, dict[str, Any]] = {
    "single": {},
    "list": {"crawl_mode": "list", "list_config": {"item_links": "h2 > a"}},
    "crawl": {"crawl_mode": "crawl", "list_config": {"max_pages": 5}},
}


def _job(stack: Stack, url: str, **more: Any) -> dict[str, Any]:
    body = {"target_url": url, "fields": FIELDS, "strategy": "http", **more}
    answer = stack.client.post("/jobs", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def _schema(stack: Stack, job: dict[str, Any]) -> dict[str, Any]:
    answer = stack.client.get(f"/jobs/{job['id']}/schema")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/schema+json")
    found = dict(answer.json())
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(found)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_what_is_exported_matches_the_schema_of_the_job(stack: Stack, mode: str) -> None:
    pages = {"/robots.txt": Page(status=404), "/p": Page(raw=PAGE), "/list": Page(raw="<h2><a href=/p>Chair</a></h2>")}
    with serve_site(pages) as site:
        job = _job(stack, site.url + ("/list" if mode == "list" else "/p"), **MODES[mode])
        run = stack.wait_for_end(stack.start(job)["id"])
        exported = stack.client.get(f"/jobs/runs/{run['id']}/export?format=json").json()
        schema = _schema(stack, job)
    assert len(exported) == 1, run
    [record] = exported
    checker = jsonschema_rs.validator_for(schema, validate_formats=True)
    assert [f"{error.instance_path}: {error.message}" for error in checker.iter_errors(record)] == []
    assert set(record) == set(schema["properties"])
    # Values of another kind, and values that break a rule, do not match.
    broken: dict[str, list[Any]] = {
        "heading": [None, "x", "Bed", 5],
        "tags": [[], ["A"], "a", None],
        "cost": [{"amount": 0, "currency": "EUR"}, {"amount": 30000, "currency": "EUR"}, 5, {"amount": 5}],
        "wholes": [[4], [1.5], ["1"]],
        "day": ["3 May", 5],
        "stars": [{"value": 0.5, "best": 5}, 4],
        "rows": [[{"n": "1", "w": "x", "z": None}], [{"w": "x"}], {}, None],
        "first_row": ["x"],
        "page_status": ["200"],
        "joined": [["a"]],
        "is_there": ["yes"],
        "phone": [5],
        "shop": [8, "7"],
        "nothing": [5],
    }
    accepted = [
        (name, value)
        for name, values in broken.items()
        for value in values
        if checker.is_valid({**record, name: value})
    ]
    assert accepted == []
    absent = [name for name in record if checker.is_valid({key: value for key, value in record.items() if key != name})]
    assert absent == []


def test_fields_that_were_not_found_match_where_no_rule_requires_them(stack: Stack) -> None:
    with serve_site({"/p": Page(raw="<title>Empty</title>" + "<p>Words and nothing else.</p>" * 30)}) as site:
        job = _job(stack, f"{site.url}/p")
        run = stack.wait_for_end(stack.start(job)["id"])
        [record] = stack.client.get(f"/jobs/runs/{run['id']}/export?format=jsonl").text.splitlines()
        schema = _schema(stack, job)
    checker = jsonschema_rs.validator_for(schema)
    found = {error.instance_path[0] for error in checker.iter_errors(json.loads(record))}
    assert found == {"heading", "tags"}


def test_a_job_that_does_not_exist_has_no_schema(stack: Stack) -> None:
    assert stack.client.get("/jobs/0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b/schema").status_code == 404
