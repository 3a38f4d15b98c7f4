"""`corral reparse`: stored pages are read again without a request."""

import json
from typing import Any

import pytest

from tests.cli.command import Corral
from tests.engine.crawl.site import Page, Site, serve_site

pytestmark = pytest.mark.usefixtures("migrated")


def a_product(number: int) -> Page:
    words = "<p>Words about it.</p>" * 30
    return Page(raw=f"<title>P{number}</title><b class=sku>s{number}</b><i class=price>{number}.50 EUR</i>{words}")


def a_shop() -> dict[str, Page]:
    links = "".join(f'<h2><a href="/p/{number}">{number}</a></h2>' for number in range(3))
    products = {f"/p/{number}": a_product(number) for number in range(3)}
    return {"/robots.txt": Page(status=404), "/list": Page(raw=f"<title>List</title>{links}"), **products}


def crawl(corral: Corral, site: Site, *more: str) -> str:
    recipe = corral.folder / "shop.yaml"
    recipe.write_text(
        "only_fields: true\nkey: sku\nfields:\n  - {name: sku, css: .sku}\n  - {name: price, css: .price}\n"
    )
    done = corral("crawl", f"{site.url}/list", "--depth", "2", "--recipe", "shop.yaml", "--json", *more)
    assert done.code == 0, done.err
    return str(done.json["run"]["id"])


def write_recipe(corral: Corral, *fields: dict[str, Any]) -> str:
    (corral.folder / "new.yaml").write_text(json.dumps({"only_fields": True, "fields": list(fields)}))
    return "new.yaml"


SKU, PRICE = {"name": "sku", "css": ".sku"}, {"name": "price", "css": ".price"}


def test_a_changed_recipe_shows_what_would_change_without_a_request(corral: Corral) -> None:
    with serve_site(a_shop()) as site:
        run_id = crawl(corral, site, "--keep-pages")
        site.hits.clear()
        same = corral.here("reparse", run_id, "--diff")
        assert same.code == 0, same.out + same.err
        assert "4 pages of run" in same.out
        assert "0 changed, 4 unchanged, 0 unreadable" in same.out

        recipe = write_recipe(corral, SKU, {**PRICE, "type": "money"}, {"name": "also", "css": ".sku"})
        shown = corral.here("reparse", run_id, "--diff", "--recipe", recipe, "--limit", "1")
        as_json = corral.here("reparse", run_id, "--diff", "--recipe", recipe, "--json")
        assert (shown.code, as_json.code) == (1, 1), shown.err + as_json.err
        assert site.hits.total() == 0
    assert shown.out.count("changed  http") == 1
    assert "… and 2 more changed pages" in shown.out
    assert "    before  null" in shown.out
    told = as_json.json
    assert told["counts"] == {"pages": 4, "changed": 3, "unchanged": 1, "unreadable": 0}
    assert told["fields"] == {"price": 3, "also": 3}
    page = next(each for each in told["pages"] if each["url"].endswith("/p/1"))
    assert {each["field"]: (each["before"], each["after"]) for each in page["changes"]} == {
        "price": ("1.50 EUR", {"amount": 1.5, "currency": "EUR"}),
        "also": (None, "s1"),
    }
    listed = corral.here("records", run_id, "--json").json
    assert all(isinstance(each["data"]["price"], str) for each in listed), "nothing is written"


def test_a_recipe_that_finds_nothing_is_a_change(corral: Corral) -> None:
    with serve_site(a_shop()) as site:
        run_id = crawl(corral, site, "--keep-pages")
    recipe = write_recipe(corral, {"name": "sku", "css": ".nothing"}, PRICE)
    told = corral.here("reparse", run_id, "--diff", "--recipe", recipe, "--json").json
    assert told["fields"] == {"sku": 3}
    assert {each["changes"][0]["after"] for each in told["pages"]} == {None}
    without_key = corral.here("reparse", run_id, "--diff", "--css", "price=.price", "--json")
    assert without_key.json["fields"] == {"sku": 3}, without_key.err


def test_without_stored_pages_it_says_how_to_store_them(corral: Corral) -> None:
    with serve_site(a_shop()) as site:
        run_id = crawl(corral, site)
    done = corral.here("reparse", run_id, "--diff")
    assert done.code == 2
    assert "stored no pages" in done.err
    assert "--keep-pages" in done.err
    refused = corral.here("reparse", run_id)
    assert refused.code == 2
    assert "never overwritten" in refused.err
    assert corral.here("reparse", "0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b", "--diff").code != 0
