import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.extract import page
from corral.extract.fields.extract import extract_from
from corral.extract.page import Page, is_too_deep
from corral.extract.selectors.spec import compile_check
from corral.extract.value_limit import capture_limit
from corral.extract.values import storable
from tests.slack import SLACK

URL = "https://shop.example/p/1"
PRODUCT = """
<html lang="en"><head><title> Lamp \n | Shop </title>
<meta name="description" content="A lamp."><meta property="og:image" content="/lamp.jpg">
<meta property="article:published_time" content="2024-05-01"><link rel="canonical" href="/lamp">
<script type="application/ld+json">{"@graph": [{"@type": "Product", "name": "Lamp 3000", "brand": {"name": "Lux"},
 "offers": {"price": 9.5, "priceCurrency": "EUR"}, "author": [{"name": "Ann"}]}]}</script>
<script type="application/ld+json">{broken</script></head>
<body><h1>The <b>Lamp</b></h1><svg><title>icon</title></svg><span itemprop="sku" content="L-3"></span>
<table><tr><th>Weight</th><td>2 kg</td></tr></table><dl><dt>Colour:</dt><dd>red</dd></dl>
<p class="stock-level">5 left</p><a href="/a">A</a><a href="b">B</a><i class="blank">  </i><i class="blank">x</i>
</body></html>"""


def extract_one(name: str, html: str = PRODUCT, **recipe: object) -> object:
    return extract_from(Page(html, URL), [FieldSpec(name, **recipe)]).record[name]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name, value",
    [
        ("title", "Lamp 3000"),
        ("name", "Lamp 3000"),
        ("description", "A lamp."),
        ("price", "9.5"),
        ("currency", "EUR"),
        ("brand", "Lux"),
        ("author", "Ann"),
        ("date", "2024-05-01"),
        ("published_at", "2024-05-01"),
        ("image", "https://shop.example/lamp.jpg"),
        ("url", "https://shop.example/lamp"),
        ("canonical_url", "https://shop.example/lamp"),
        ("language", "en"),
        ("h1", "The Lamp"),
        ("sku", "L-3"),
        ("weight", "2 kg"),
        ("colour", "red"),
        ("stock_level", "5 left"),
        ("warranty", None),
        ("script", None),
        ("1; drop", None),
    ],
)
def test_a_bare_name_is_filled_from_what_the_page_says(name: str, value: str | None) -> None:
    assert extract_one(name) == value


def test_recipes() -> None:
    assert extract_one("x", css="h1") == "The Lamp"
    assert extract_one("x", css="a", attr="href") == "https://shop.example/a"
    assert extract_one("x", css="a", all=True) == ["A", "B"]
    assert extract_one("x", css="a", attr="href", all=True) == ["https://shop.example/a", "https://shop.example/p/b"]
    assert extract_one("x", css=".nothing") is None
    assert extract_one("x", css=".nothing", all=True) == []
    assert extract_one("x", css=".blank") == "x"


def test_blank_values_are_missing() -> None:
    fields = [FieldSpec("a", css="p"), FieldSpec("b", css="i", all=True), FieldSpec("c", css="b")]
    extraction = extract_from(Page("<p> \n&nbsp;</p><i></i><b>x</b>", URL), fields)
    assert extraction.record == {"a": None, "b": [], "c": "x"}
    assert extraction.missing == ("a", "b")


def test_title_falls_back_to_opengraph_and_heading() -> None:
    assert extract_one("title", "<meta property=og:title content=OG><h1>H</h1>") == "OG"
    assert extract_one("title", "<title> </title><h1>H</h1>") == "H"


def test_the_base_of_a_page_is_respected() -> None:
    html = '<base href="https://cdn.example/x/"><a href="y">'
    assert extract_one("x", html, css="a", attr="href") == "https://cdn.example/x/y"


def test_values_are_cleaned_and_capped() -> None:
    html = '<script type="application/ld+json">{"name": "a\\u0000\\ud800b"}</script><p>' + "x" * 1_300_000
    assert extract_one("name", html) == "ab"
    assert len(str(extract_one("x", html, css="p"))) == capture_limit()


@pytest.mark.parametrize("css", ["p:nth(", "p::text", "a::attr(href)", ">>>", "", " ", "p >", "p[", "p,", "a\0"])
def test_a_bad_selector_is_refused_at_creation(css: str) -> None:
    with pytest.raises(BadInput) as caught:
        compile_check(css)
    assert caught.value.code == "bad_selector"
    assert caught.value.field == "fields"
    assert caught.value.hint


@pytest.mark.parametrize("css", ["p", ".a > b", "a[href^='/x']", "li:nth-child(2)", "div:has(p)", "a, b", "#é"])
def test_a_good_selector_passes(css: str) -> None:
    assert compile_check(css) == css


def test_an_endless_selector_is_refused() -> None:
    with pytest.raises(BadInput):
        compile_check("x" * 100_000)


TAGS = st.sampled_from(
    ["<div>", "</div>", "<DIV>", "<p>", "</p>", "<a href=x>", "</a>", "</x>", "<", "</", "x", "<br/"]
)


@given(st.lists(st.tuples(TAGS, st.integers(1, 40)), max_size=30), st.integers(1, 60), st.integers(1, 200))
def test_the_shorter_way_to_the_depth_ends_at_the_same(runs: list[tuple[str, int]], most: int, piece: int) -> None:
    html = "".join(tag * times for tag, times in runs)
    assert is_too_deep(html, most, piece) == page._is_counted_too_deep(html, most)


def test_depth_is_judged_before_parsing() -> None:
    started = time.monotonic()
    assert is_too_deep("<div>" * 1_000_000)
    assert is_too_deep("<div></x>" * 100_000)
    assert not is_too_deep("<div></div>" * 100_000)
    assert not is_too_deep("<p>a<br><li>b" * 100_000)
    assert Page("<div>" * 200_000).title is None
    assert time.monotonic() - started < 5 * SLACK


@given(st.text(alphabet="<>/abip ='\"&;#!-x0\n", max_size=200), st.text(max_size=12))
def test_no_markup_and_no_name_raises(html: str, name: str) -> None:
    extraction = extract_from(Page(html, URL), [FieldSpec(name)])
    assert set(extraction.record) == {name}


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    )
)
def test_any_value_becomes_storable(value: object) -> None:
    assert storable(storable(value)) == storable(value)
