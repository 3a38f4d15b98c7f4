"""Recipes beyond one selector: objects, lists of objects, fallbacks, joined and chosen matches, constants."""

import json
from typing import Any

import pytest

from corral.domain.fields.parse import parse_fields
from corral.extract.fields.extract import Extraction, extract_from
from corral.extract.fields.html_source import HtmlSource
from corral.extract.fields.plain_sources import JsonSource
from corral.extract.fields.raw import KnownFacts
from corral.extract.fields.xml_source import XmlSource
from corral.extract.page import Page
from corral.extract.xml.elements import xml_elements

SHOP = """
<html lang="de"><body>
<h1>Lampen</h1>
<div class="card" data-id="1"><h3>Eins</h3><b class="price">1,50 €</b><a href="/1">mehr</a><i>rot</i><i>blau</i></div>
<div class="card" data-id="2"><h3>Zwei</h3><a href="/2">mehr</a></div>
<div class="card ad"></div>
<div class="seller"><span class="n">Ada</span><span class="c">Berlin</span></div>
<table><tr><th>Jahr</th><th>Ertrag</th></tr><tr><td>2024</td><td>7</td></tr><tr><td>2025</td><td>9</td></tr></table>
</body></html>
"""
CARD = {"css": ".card"}


def extract(*fields: Any, html: str = SHOP) -> Extraction:
    facts = KnownFacts({"url": "https://shop.example/", "time": "2026-01-03T00:00:00.000Z", "status": 200})
    page = Page(html, "https://shop.example/")
    return extract_from(page, parse_fields(list(fields)), facts=facts)


def value_of(field: dict[str, Any], html: str = SHOP) -> Any:
    return extract({"name": "f", **field}, html=html).record["f"]


@pytest.mark.parametrize("item", [".card", {"css": ".card"}, {"xpath": "//div[contains(@class, 'card')]"}])
def test_a_list_of_objects_has_one_for_each_match_that_holds_something(item: Any) -> None:
    fields = [
        {"name": "title", "css": "h3"},
        {"name": "price", "css": ".price", "optional": True},
        {"name": "link", "xpath": ".//a", "attr": "href"},
        {"name": "id", "attr": "data-id"},
    ]
    assert value_of({"item": item, "fields": fields}) == [
        {"title": "Eins", "price": "1,50 €", "link": "https://shop.example/1", "id": "1"},
        {"title": "Zwei", "price": None, "link": "https://shop.example/2", "id": "2"},
    ]


@pytest.mark.parametrize("second", [{"css": "td:nth-child(2)"}, {"xpath": "./td[2]"}])
def test_rows_of_a_table_are_objects_and_its_head_is_none(second: dict[str, Any]) -> None:
    fields = [{"name": "year", "css": "td"}, {"name": "yield", **second}]
    expected = [{"year": "2024", "yield": "7"}, {"year": "2025", "yield": "9"}]
    assert value_of({"item": "tr", "fields": fields}) == expected
    assert value_of({"item": {"xpath": "//tr"}, "fields": fields}) == expected


def test_an_object_is_one_match_and_may_hold_others() -> None:
    inner = {"name": "place", "fields": [{"name": "city", "css": ".c"}]}
    spec = {"css": ".seller", "fields": [{"name": "name", "css": ".n"}, inner]}
    assert value_of(spec) == {"name": "Ada", "place": {"city": "Berlin"}}


def test_names_are_looked_for_inside_of_an_item() -> None:
    html = (
        "<div class=c itemscope><h2 itemprop=name>One</h2></div><div class=c itemscope><h2 itemprop=name>Two</h2></div>"
    )
    assert value_of({"item": ".c", "fields": ["name"]}, html) == [{"name": "One"}, {"name": "Two"}]
    html = "<title>Shop</title><h1>All</h1><li><h3>A</h3><a href=/a>more</a><b class=price>5 €</b></li>"
    expected = {"title": "A", "url": "https://shop.example/a", "price": "5 €"}
    assert value_of({"item": "li", "fields": ["title", "url", "price"]}, html) == [expected]


def test_a_fallback_is_taken_where_nothing_is_found_and_its_source_is_told() -> None:
    spec = {"name": "f", "css": ".none", "fallbacks": [{"xpath": "//h2"}, {"css": "h1"}, {"const": "?"}]}
    extraction = extract(spec)
    assert extraction.record == {"f": "Lampen"}
    assert extraction.details["f"]["source"] == "css:h1"
    assert value_of({"css": ".none", "fallbacks": [{"const": 7}]}) == 7
    assert value_of({"css": ".none", "fallbacks": [{"bare": "h1"}]}) == "Lampen"


def test_a_fallback_is_taken_where_the_first_value_is_not_of_the_type() -> None:
    spec = {"css": "h1", "type": "integer", "fallbacks": [{"css": "td"}]}
    assert value_of(spec) == 2024


@pytest.mark.parametrize(
    "choice, value",
    [
        ({"join": ", "}, "rot, blau"),
        ({"join": ""}, "rotblau"),
        ({"first": True}, "rot"),
        ({"last": True}, "blau"),
        ({"nth": 2}, "blau"),
        ({"nth": -2}, "rot"),
        ({"nth": 3}, None),
        ({"all": True}, ["rot", "blau"]),
        ({}, "rot"),
    ],
)
def test_matches_are_joined_and_chosen(choice: dict[str, Any], value: Any) -> None:
    assert value_of({"css": "i", **choice}) == value


def test_constants_and_what_is_known_of_the_page() -> None:
    extraction = extract(
        {"name": "shop", "const": "lamps"},
        {"name": "at", "page": "time"},
        {"name": "from", "page": "url"},
        {"name": "status", "page": "status"},
    )
    assert list(extraction.record.values()) == ["lamps", "2026-01-03T00:00:00.000Z", "https://shop.example/", 200]
    assert extraction.missing == ()


def test_a_part_that_most_objects_lack_is_missing_unless_it_is_optional() -> None:
    parts: list[dict[str, Any]] = [{"name": "title", "css": "h3"}, {"name": "none", "css": ".none"}]
    assert extract({"name": "cards", "item": ".card", "fields": parts}).missing == ("cards.none",)
    parts[1]["required"] = False
    assert extract({"name": "cards", "item": ".card", "fields": parts}).missing == ()


def test_an_optional_field_is_not_missing() -> None:
    assert extract({"name": "f", "css": ".none"}).missing == ("f",)
    assert extract({"name": "f", "css": ".none", "optional": True}).missing == ()


def test_a_raw_value_is_kept_beside_the_converted_one() -> None:
    detail = extract({"name": "f", "css": "td", "type": "integer"}).details["f"]
    assert detail == {"source": "css:td", "confidence": 1.0, "raw": "2024"}


def test_objects_of_json() -> None:
    document = json.dumps({"shops": [{"n": "a", "offers": [{"p": 1}, {"p": 2}]}, {"n": "b", "offers": []}]})
    offers = {"name": "offers", "item": {"jsonpath": "$.offers[*]"}, "fields": [{"name": "p", "jsonpath": "$.p"}]}
    fields = parse_fields([{"name": "shops", "item": {"jsonpath": "$.shops[*]"}, "fields": ["n", offers]}])
    assert extract_from(JsonSource.parse(document), fields).record["shops"] == [
        {"n": "a", "offers": [{"p": 1}, {"p": 2}]},
        {"n": "b", "offers": []},
    ]


def test_objects_of_xml() -> None:
    elements = xml_elements("<feed><entry id='1'><title>A</title></entry><entry id='2'><title>B</title></entry></feed>")
    assert elements is not None
    fields = parse_fields([{"name": "e", "item": "entry", "fields": ["title", {"name": "id", "xpath": "@id"}]}])
    record = extract_from(XmlSource(elements, "https://x.example/"), fields).record
    assert record["e"] == [{"title": "A", "id": "1"}, {"title": "B", "id": "2"}]


def test_a_part_of_a_page_has_the_language_it_stands_in() -> None:
    page = Page("<html lang=en><div lang=fr><p class=x>1</p></div><p class=x>2</p></html>")
    parts = HtmlSource(page).find_parts(parse_fields([{"name": "f", "css": ".x"}])[0])
    assert [part.language for part in parts] == ["fr", "en"]
