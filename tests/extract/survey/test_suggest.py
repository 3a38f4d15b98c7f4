"""What is proposed to a person who writes a job: each proposal finds something, and the obvious is proposed."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corral.domain.fields.spec import FieldSpec
from corral.extract.fields.extract import extract_from
from corral.extract.page import Page
from corral.extract.selectors.generate import selector_for
from corral.extract.selectors.spec import compile_check
from corral.extract.survey.suggest import MAX_SUGGESTIONS, suggestions

URL = "https://shop.example/lamps"
PRODUCT = """<html><head><title>Lamp | Shop</title>
<meta name="description" content="A lamp."><meta property="og:title" content="Lamp 3000">
<meta property="og:image" content="https://shop.example/lamp.jpg"><link rel="canonical" href="/lamp">
<script type="application/ld+json">{"@type": "Product", "name": "Lamp 3000", "brand": {"name": "Lux"},
 "offers": {"price": 9.5, "priceCurrency": "EUR"}}</script></head>
<body><main><h1>The Lamp</h1><img src="/a.png"><p class="price">€ 9.50</p>
<span itemprop="ratingValue" content="4.5">****</span><p>Published 12 March 2024</p></main></body></html>"""
LIST = """<html><head><title>Lamps</title></head><body>
<nav><ul><li><a href="/x">X</a></li><li><a href="/y">Y</a></li><li><a href="/z">Z</a></li><li>W</li></ul></nav>
<div class="grid">{}</div><a rel="next" href="?page=2">More</a></body></html>""".format(
    "".join(
        f'<div class="card"><h3>Lamp {number}</h3><a href="/lamp/{number}">see</a>'
        f'<b class="price-tag">{number} €</b></div>'
        for number in range(12)
    )
)
ARTICLE = """<html><head><title>News</title><script type="application/ld+json">{"@type": "Article",
 "headline": "Rain", "author": {"name": "Ann"}, "datePublished": "2024-03-12"}</script></head>
<body><article><h1>Rain</h1><div><div>by <i>Ann</i></div><time datetime="2024-03-12">yesterday</time></div>
<p>%s</p></article></body></html>""" % ("It rained. " * 40)
BARE = "<body><div><div>a</div><div><span>x</span><span>only $ 1,200.00 now</span></div></div></body>"
PAGES = {"product": PRODUCT, "list": LIST, "article": ARTICLE, "bare": BARE}


def propose(html: str) -> list[dict[str, Any]]:
    return suggestions(Page(html, URL))


def label_rows(html: str, label: str) -> list[dict[str, Any]]:
    return [each for each in propose(html) if each["label"] == label]


def value_of(html: str, found: dict[str, Any]) -> Any:
    spec = FieldSpec("it", found["css"], found["attr"], found["all"], found["regex"])
    return extract_from(Page(html, URL), [spec]).record["it"]


@pytest.mark.parametrize("html", PAGES.values(), ids=PAGES)
def test_every_proposal_finds_what_it_says(html: str) -> None:
    found = propose(html)
    assert 0 < len(found) <= MAX_SUGGESTIONS
    for each in found:
        compile_check(each["css"])
        value = value_of(html, each)
        assert value, each
        assert (value[0] if each["all"] else value).startswith(each["sample"]), each
        assert 0 < each["confidence"] <= 1, each
    sure = [each["confidence"] for each in found]
    assert sure == sorted(sure, reverse=True)
    keys = [(each["css"], each["attr"], each["regex"]) for each in found]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    "html, label, value",
    [
        (PRODUCT, "title", "Lamp | Shop"),
        (PRODUCT, "title", "Lamp 3000"),
        (PRODUCT, "heading", "The Lamp"),
        (PRODUCT, "description", "A lamp."),
        (PRODUCT, "image", "https://shop.example/lamp.jpg"),
        (PRODUCT, "image", "https://shop.example/a.png"),
        (PRODUCT, "price", "€ 9.50"),
        (PRODUCT, "price", "9.5"),
        (PRODUCT, "currency", "EUR"),
        (PRODUCT, "rating", "4.5"),
        (PRODUCT, "date", "Published 12 March 2024"),
        (PRODUCT, "name", "Lamp 3000"),
        (PRODUCT, "url", "https://shop.example/lamp"),
        (ARTICLE, "date", "2024-03-12"),
        (ARTICLE, "title", "Rain"),
        (LIST, "next page", "https://shop.example/lamps?page=2"),
        (BARE, "price", "only $ 1,200.00 now"),
    ],
)
def test_the_obvious_is_proposed(html: str, label: str, value: str) -> None:
    assert value in [value_of(html, each) for each in label_rows(html, label)]


def test_the_text_of_an_article_is_proposed() -> None:
    [text] = label_rows(ARTICLE, "text")
    assert text["css"] == "article"
    assert "It rained." in value_of(ARTICLE, text)


def test_the_name_of_an_author_is_not_the_name_of_the_article() -> None:
    assert not label_rows(ARTICLE, "name")


def test_a_list_is_proposed_with_its_items_and_what_is_in_them() -> None:
    items, links, titles, prices = (
        label_rows(LIST, label)[0] for label in ("items", "item links", "item titles", "item prices")
    )
    assert items["css"] == "div.card"
    assert len(value_of(LIST, items)) == 12
    assert value_of(LIST, links)[:2] == ["https://shop.example/lamp/0", "https://shop.example/lamp/1"]
    assert value_of(LIST, titles) == [f"Lamp {number}" for number in range(12)]
    assert value_of(LIST, prices)[3] == "3 €"


def test_menus_are_no_items() -> None:
    assert not any("/x" in each["sample"] or "nav" in each["css"] for each in propose(LIST))


def test_text_in_scripts_is_no_price() -> None:
    assert not label_rows("<body><script>var a = '$ 5'</script><style>/* € 7 */</style></body>", "price")


@pytest.mark.parametrize("html", ["", "plain", "<body></body>", "<!-- $ 5 -->", "<svg><title>x</title></svg>"])
def test_a_page_without_anything_gets_no_proposal(html: str) -> None:
    assert propose(html) == []


def test_a_page_of_ten_thousand_prices_is_summed_up() -> None:
    rows = "".join(f'<p class="c{number}">$ {number}</p>' for number in range(10_000))
    assert 0 < len(propose(f"<body>{rows}</body>")) <= MAX_SUGGESTIONS


@pytest.mark.parametrize(
    "html, css",
    [
        ('<p id="a">x</p>', "#a"),
        ('<p id="1:2">x</p>', "p"),
        ("<p>y</p><p class='a\"b good'>x</p>", "p.good"),
        ("<p class='c9'>y</p><p class='c9 real'>x</p>", "p.real"),
        ("<ul><li>y</li></ul><ol><li>x</li></ol>", "ol > li"),
        ("<div><p>y</p><p>x</p></div>", "html > body > div:nth-of-type(1) > p:nth-of-type(2)"),
    ],
)
def test_a_selector_is_as_short_as_the_page_allows(html: str, css: str) -> None:
    page = Page(html)
    [node] = [node for node in page.tree.css("p, li") if node.text() == "x"]
    assert selector_for(page, node) == css


@example("<b$1 9>€ 19</b$1>")
@given(st.text(alphabet="<>/ abp\"'=€$19-\n", max_size=300))
def test_whatever_the_page_is_proposals_find_something(text: str) -> None:
    html = f'<div class="price">{text}</div>'
    for each in propose(html):
        assert value_of(html, each)


def test_values_behind_labels_are_selected_by_the_words_of_the_label() -> None:
    html = (
        "<h1>Lamp</h1><dl><dt>Artikelnummer:</dt><dd>A-3</dd><dt>Farbe</dt><dd>rot</dd></dl>"
        "<table><tr><th>Breite</th><td>12,5 cm</td></tr></table><nav><dl><dt>Preis</dt><dd>1 €</dd></dl></nav>"
    )
    found = {each["label"]: each for each in suggestions(Page(html, URL)) if each["xpath"]}
    assert {label: each["sample"] for label, each in found.items()} == {
        "sku": "A-3",
        "color": "rot",
        "breite": "12,5 cm",
    }
    other = Page("<dl><dt>Neu</dt><dd>x</dd><dt>Farbe</dt><dd>blau</dd></dl>", URL)
    spec = FieldSpec("color", xpath=found["color"]["xpath"])
    assert extract_from(other, [spec]).record == {"color": "blau"}
    assert found["color"]["confidence"] > found["breite"]["confidence"]
