"""Fields in crawls: of all pages, and of those whose address matches a pattern."""

import json
from pathlib import Path
from typing import Any

from tests.cli.command import Corral
from tests.engine.crawl.site import Page, serve_site
from tests.engine.crawl.tasks import results, submit, wait_for_task
from tests.stack import Stack

WORDS = "<p>Words that a reader may like.</p>" * 20
PAGES = {
    "/": Page(raw=f"<title>Start</title><a href=/product/1>1</a><a href=/product/2>2</a><a href=/blog/a>a</a>{WORDS}"),
    "/product/1": Page(raw=f"<title>P1</title><h1>Lamp</h1><b class=price>12.50</b>{WORDS}"),
    "/product/2": Page(raw=f"<title>P2</title><h1>Chair</h1><b class=price>7</b>{WORDS}"),
    "/blog/a": Page(raw=f"<title>A</title><h1>Post</h1><time datetime=2026-01-03>3 Jan</time>{WORDS}"),
    "/robots.txt": Page(status=404),
}
PRICE = {"name": "price", "css": ".price", "type": "number"}
PATTERNS = [{"match": "/product/*", "fields": [PRICE]}, {"match": "/blog/*", "fields": ["date"]}]


def test_each_pattern_has_its_own_fields(stack: Stack) -> None:
    with serve_site(PAGES) as site:
        task = submit(stack, site.url + "/", page_fields=PATTERNS, fields=[{"name": "at", "page": "url"}])
        assert wait_for_task(stack, task)["status"] == "completed"
        found = {item["url"].removeprefix(site.url): item for item in results(stack, task)["results"]}
    assert {url: item.get("price") for url, item in found.items()} == {
        "/": None,
        "/product/1": 12.5,
        "/product/2": 7,
        "/blog/a": None,
    }
    assert [url for url, item in found.items() if "date" in item] == ["/blog/a"]
    assert all(item["at"] == item["url"] for item in found.values()), "those of every page are in every record"


def test_a_field_that_most_of_its_pages_lack_makes_the_crawl_partial(stack: Stack) -> None:
    patterns = [{"match": "/product/*", "fields": [PRICE, {"name": "colour", "css": ".colour"}]}]
    with serve_site(PAGES) as site:
        task = submit(stack, site.url + "/", page_fields=patterns)
        assert wait_for_task(stack, task)["status"] == "partial"


def test_a_bad_selector_of_a_pattern_is_refused_with_its_place(stack: Stack) -> None:
    body = {"url": "http://shop.example/", "page_fields": [{"match": "/a/*", "fields": [{"name": "f", "css": "p["}]}]}
    answer = stack.client.post("/scraping/async-scrape", json=body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "page_fields.0.fields.0"), answer.text
    body["page_fields"] = [{"match": "no path", "fields": ["title"]}]
    answer = stack.client.post("/scraping/async-scrape", json=body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "page_fields.0.match"), answer.text


def crawl_records(corral: Corral, *arguments: str) -> list[dict[str, Any]]:
    done = corral("crawl", *arguments, "-o", "-")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_a_recipe_file_on_the_command_line(corral: Corral) -> None:
    recipe = corral.folder / "recipe.yaml"
    pattern = "{match: /product/*, fields: [{name: price, css: .price, type: number}]}"
    recipe.write_text(f"only_fields: true\npages:\n  - {pattern}\n")
    with serve_site(PAGES) as site:
        found = crawl_records(corral, f"{site.url}/", "--recipe", "recipe.yaml")
        assert sorted((each["url"].removeprefix(site.url), each["price"], len(each)) for each in found) == [
            ("/product/1", 12.5, 2),
            ("/product/2", 7, 2),
        ]
        found = crawl_records(
            corral, f"{site.url}/", "--include", "/product/*", "--css", "price=.price", "--fields", "h1"
        )
    assert {each["h1"]: each["price"] for each in found if each["h1"]} == {"Lamp": "12.50", "Chair": "7"}


def test_on_one_page_the_pattern_that_matches_it_counts(corral: Corral) -> None:
    pages = "pages: [{match: /product/*, fields: [{name: price, css: .price}]}]\n"
    (corral.folder / "recipe.yaml").write_text(pages)
    with serve_site(PAGES) as site:
        done = corral("scrape", f"{site.url}/product/1", "--recipe", "recipe.yaml", "--json")
        assert json.loads(done.out)["records"] == [{"price": "12.50"}], done.err
        done = corral("scrape", f"{site.url}/blog/a", "--recipe", "recipe.yaml")
        assert done.code == 2
        assert "no pattern of the recipe matches" in done.err
        done = corral("job", "add", site.url, "--item-links", "a", "--recipe", "recipe.yaml")
    assert done.code == 2
    assert "a list cannot use the recipe" in done.err


def test_a_recipe_file_that_is_none_is_refused(corral: Corral) -> None:
    for text, told in (("fields: [", "is no YAML"), ("colours: [red]", "no part of a recipe"), ("[]", "is a mapping")):
        Path(corral.folder / "bad.yaml").write_text(text)
        done = corral("crawl", "http://127.0.0.1:9/", "--recipe", "bad.yaml")
        assert (done.code, told in done.err) == (2, True), done.err
    done = corral("scrape", "http://127.0.0.1:9/", "--recipe", "none.yaml")
    assert (done.code, "cannot be read" in done.err) == (2, True), done.err
