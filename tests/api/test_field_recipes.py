"""Field recipes of jobs over HTTP: objects, fallbacks, types, rules; and the details of a record."""

from typing import Any

import pytest

from tests.engine.crawl.site import Page, serve_site
from tests.stack import Stack

SHOP = (
    """<html lang="de"><title>Lampen</title><h1>Lampen</h1>
<table><tr><th>Name<th>Preis</tr><tr><td>A<td>1.234,50 €</tr><tr><td>B<td>9,99 €</tr></table>
<p class=seller><b>Ada</b> <i>Berlin</i></p>"""
    + "<p>Worte, die den Leser erfreuen.</p>" * 20
)
ROWS: dict[str, Any] = {
    "name": "rows",
    "item": "tr",
    "fields": [{"name": "name", "css": "td"}, {"name": "price", "css": "td", "nth": 2, "type": "money"}],
}


def collect(stack: Stack, *fields: Any, raw: str = SHOP) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    with serve_site({"/": Page(raw=raw), "/robots.txt": Page(status=404)}) as site:
        answer = stack.client.post("/jobs", json={"target_url": site.url + "/", "fields": list(fields)})
        assert answer.status_code == 200, answer.text
        run = stack.wait_for_end(stack.start(dict(answer.json()), strategy="http")["id"])
        return run, stack.client.get(f"/jobs/runs/{run['id']}/records").json()


def test_rows_of_a_table_are_typed_objects_with_their_raw_values(stack: Stack) -> None:
    seller = {"name": "seller", "css": ".seller", "fields": [{"name": "who", "css": "b"}]}
    run, [record] = collect(stack, ROWS, seller, {"name": "shop", "const": "x"}, {"name": "at", "page": "url"})
    assert run["status"] == "completed", run
    assert record["data"]["rows"] == [
        {"name": "A", "price": {"amount": 1234.5, "currency": "EUR"}},
        {"name": "B", "price": {"amount": 9.99, "currency": "EUR"}},
    ]
    assert (record["data"]["seller"], record["data"]["shop"]) == ({"who": "Ada"}, "x")
    assert record["data"]["at"].endswith("/")
    details = record["details"]["rows"]
    assert details["source"] == "css:tr"
    assert [row["price"] for row in details["raw"]] == ["1.234,50 €", "9,99 €"]


def test_what_a_job_says_can_be_sent_again(stack: Stack) -> None:
    fields = ["title", {**ROWS, "optional": True}, {"name": "f", "css": "h1", "fallbacks": [{"const": False}]}]
    first = stack.job(fields=fields, validate=False)
    second = stack.job(fields=first["fields"], validate=False)
    assert second["fields"] == first["fields"]


def test_a_value_against_the_rules_stays_and_makes_the_run_partial(stack: Stack) -> None:
    priced = {"name": "price", "css": "td", "nth": 2, "type": "money", "rules": {"max": 1000}}
    run, [record] = collect(stack, priced)
    assert (run["status"], run["failure_detail"]) == ("partial", "rules"), run
    assert "out_of_range" in run["stats"]["problems"]["price"]
    assert record["data"]["price"]["amount"] == 1234.5
    fallback = {**priced, "fallbacks": [{"css": "td", "nth": 4}]}
    run, [record] = collect(stack, fallback)
    assert (run["status"], record["data"]["price"]["amount"]) == ("completed", 9.99)


def test_a_part_that_most_rows_lack_makes_the_run_partial(stack: Stack) -> None:
    rows = {**ROWS, "fields": [*ROWS["fields"], {"name": "colour", "css": ".colour"}]}
    run, _ = collect(stack, rows)
    assert (run["status"], run["stats"]["problems"]["missing"]) == ("partial", ["rows.colour"]), run


@pytest.mark.parametrize(
    "field, place",
    [
        ({"name": "f", "item": "tr"}, "fields.0.item"),
        ({"name": "f", "item": "tr", "fields": [{"name": "a", "css": "p["}]}, "fields.0.fields.0"),
        ({"name": "f", "css": "a", "fallbacks": [{"xpath": "//b["}]}, "fields.0.fallbacks.0"),
        ({"name": "f", "css": "a", "rules": {"pattern": "("}}, "fields.0.rules.pattern"),
        ({"name": "f", "css": "a", "rules": {"min": 3, "max": 1}}, "fields.0.rules.min"),
        ({"name": "f", "css": "a", "type": "colour"}, "fields.0.type"),
        ({"name": "f", "css": "a", "nth": 0}, "fields.0.nth"),
    ],
)
def test_a_bad_recipe_is_refused_with_its_place(stack: Stack, field: dict[str, Any], place: str) -> None:
    body = {"target_url": "http://shop.example/", "fields": [field], "validate": False}
    answer = stack.client.post("/jobs", json=body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, place), answer.text
