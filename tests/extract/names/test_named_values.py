"""Bare names: which entity is read, in which order the sources are asked, and what a value says about itself."""

import json
from typing import Any

import pytest

from corral.domain.fields.spec import FieldSpec
from corral.extract.fields.extract import extract_from
from corral.extract.names.named_values import NamedValues
from corral.extract.page import Page

URL = "https://www.shop.example/p/1"


def page(*blocks: Any, head: str = "", body: str = "", lang: str = "en") -> Page:
    scripts = "".join(f'<script type="application/ld+json">{json.dumps(each)}</script>' for each in blocks)
    return Page(f'<html lang="{lang}"><head>{head}{scripts}</head><body>{body}</body></html>', URL)


def one(document: Page, name: str) -> str | None:
    found = NamedValues(document).find_one(name)
    return found.value if found is not None else None


PRODUCT = {"@type": "Product", "name": "Lamp", "sku": "L1", "offers": {"@type": "Offer", "price": 9.5}}
SHOP = {"@type": "Organization", "name": "Shop Ltd", "telephone": "+1 555 0100"}


@pytest.mark.parametrize(
    "blocks",
    [
        [SHOP, PRODUCT],
        [[SHOP, PRODUCT]],
        [{"@graph": [{"@type": "WebSite", "name": "Shop"}, SHOP, PRODUCT]}],
        [{"@type": "WebPage", "name": "Lamp | Shop", "mainEntity": PRODUCT}, SHOP],
        [{"@type": ["Thing", "Product"], "name": "Lamp", "sku": "L1", "offers": [{"price": "9.5"}]}, SHOP],
        [{"@type": "https://schema.org/Product", "schema:name": "Lamp", "sku": "L1", "offers": {"price": "9.5"}}],
    ],
)
def test_the_product_is_the_main_entity_whatever_holds_it(blocks: list[Any]) -> None:
    document = page(*blocks)
    assert (one(document, "name"), one(document, "price"), one(document, "sku")) == ("Lamp", "9.5", "L1")


def test_references_lead_to_what_they_name() -> None:
    graph = [
        {"@type": "Article", "headline": "H", "author": {"@id": "#a"}, "publisher": {"@id": "#o"}},
        {"@type": "Person", "@id": "#a", "name": "Ann"},
        {"@type": "Organization", "@id": "#o", "name": "The Paper"},
    ]
    document = page({"@graph": graph})
    assert (one(document, "author"), one(document, "publisher"), one(document, "title")) == ("Ann", "The Paper", "H")


def test_of_several_products_the_one_of_this_address_or_heading_is_read() -> None:
    others = [{"@type": "Product", "name": f"Other {n}", "offers": {"price": n}} for n in (1, 2)]
    mine = {"@type": "Product", "name": "Lamp", "offers": {"price": 9}}
    assert one(page(*others, mine, body="<h1>Lamp</h1>"), "price") == "9"
    assert one(page(*others, {**mine, "url": f"{URL}?ref=x"}), "price") == "9"
    assert one(page(*others, {"@type": "ItemPage", "mainEntity": mine}), "price") == "9"


def test_related_products_and_reviews_give_no_values() -> None:
    related = {"@type": "Product", "name": "Other", "gtin13": "4000000000017", "offers": {"price": 1}}
    document = page({"@type": "Product", "name": "Lamp", "isRelatedTo": [related], "review": {"author": "Bob"}})
    assert [one(document, name) for name in ("price", "gtin", "author")] == [None, None, None]
    listed = page({"@type": "Article", "headline": "H"}, {"@type": "ItemList", "itemListElement": [{"item": related}]})
    assert one(listed, "price") is None


def test_several_products_without_evidence_are_a_list() -> None:
    document = page(*({"@type": "Product", "name": f"P{n}", "offers": {"price": n}} for n in (1, 2, 3)))
    found = NamedValues(document).find("price")
    assert [each.value for each in found] == ["1", "2", "3"]
    assert found[0].confidence < 0.5


def test_a_value_says_where_it_came_from_and_other_sources_change_its_confidence() -> None:
    head = '<meta property="product:price:amount" content="{}">'
    alone, agreed, contradicted = (
        NamedValues(page(PRODUCT, head=each)).find("price")[0] for each in ("", head.format("9.5"), head.format("12"))
    )
    assert alone.source == "json-ld:Product.offers.price"
    assert contradicted.confidence < alone.confidence < agreed.confidence < 1


@pytest.mark.parametrize(
    "html, name, value, source",
    [
        ('<p itemscope itemtype="https://schema.org/Product"><b itemprop=sku>A</b>', "sku", "A",
         "microdata:Product.sku"),
        ('<div vocab="http://schema.org/" typeof=Product><b property=sku>A</b>', "sku", "A", "rdfa:Product.sku"),
        ('<meta property="og:title" content="T">', "title", "T", "opengraph:og:title"),
        ('<meta name="DC.creator" content="Ann">', "author", "Ann", "dublin-core:DC.creator"),
        ('<meta name="twitter:label1" content="Written by"><meta name="twitter:data1" content="Ann">', "author", "Ann",
         "twitter:Written by"),
        ("<table><tr><td>Artikelnummer</td><td>A</td></tr></table>", "sku", "A", "table:Artikelnummer"),
        ("<dl><dt>Référence</dt><dd>A</dd></dl>", "sku", "A", "dl:Référence"),
        ("<p><b>Preis:</b> 12,99 € inkl. MwSt.</p>", "price", "12,99 €", "label:Preis"),
        ("<span class=label>SKU</span><span>A</span>", "sku", "A", "label:SKU"),
        ("<li>Código: A", "sku", "A", "label:Código"),
        ("<h2>Zutaten</h2><ul><li>Mehl<li>Ei</ul>", "ingredients", "Mehl\nEi", "heading:Zutaten"),
        ('<a href="mailto:a@b.example?subject=x">write</a>', "email", "a@b.example", "heuristic:mailto"),
        ("<p class=cover-type>paper", "cover_type", "paper", "markup:cover_type"),
    ],
)  # fmt: skip
def test_each_source_is_read(html: str, name: str, value: str, source: str) -> None:
    found = NamedValues(Page(html, URL)).find_one(name)
    assert found is not None
    assert (found.value, found.source) == (value, source)


@pytest.mark.parametrize(
    "label, name",
    [
        ("Prix", "price"), ("Precio", "price"), ("Prezzo", "price"), ("Preço", "price"), ("Prijs", "price"),
        ("Pris", "price"), ("Cena", "price"), ("Цена", "price"), ("価格", "price"), ("价格", "price"),
        ("Fiyat", "price"), ("السعر", "price"), ("가격", "price"), ("Hinta", "price"), ("Ár", "price"),
    ],
)  # fmt: skip
def test_labels_are_known_in_many_languages(label: str, name: str) -> None:
    assert one(Page(f"<table><tr><th>{label}</th><td>42</td></tr></table>", URL), name) == "42"


def test_broken_json_is_read() -> None:
    text = """//<![CDATA[
    {"@type": "Product", /* a comment */ "name": "A // B", "sku": "S", // another
     "description": "two
     lines", "brand": {"name": "K &amp; Co",},}
    //]]>"""
    document = Page(f'<script type="application/ld+json">{text}</script>', URL)
    assert [one(document, name) for name in ("title", "sku", "brand")] == ["A // B", "S", "K & Co"]
    several = '{"@type": "Product", "sku": "S"} {"@type": "Thing"} {"broken'
    assert one(Page(f'<script type="application/ld+json">{several}</script>', URL), "sku") == "S"


def test_itemref_gives_properties_to_a_scope_elsewhere() -> None:
    html = '<div itemscope itemtype="//schema.org/Product" itemref="x"></div><p id=x><b itemprop=sku>A</b></p>'
    assert NamedValues(Page(html, URL)).find("sku")[0].source == "microdata:Product.sku"


def test_several_authors_are_one_text_and_with_all_a_list() -> None:
    document = page({"@type": "Article", "author": [{"name": "Ann Lee"}, {"name": "Bo Kim"}]})
    record = extract_from(document, [FieldSpec("author"), FieldSpec("authors", all=True)]).record
    assert record == {"author": "Ann Lee, Bo Kim", "authors": ["Ann Lee", "Bo Kim"]}


@pytest.mark.parametrize(
    "text, names",
    [
        ("By Ann Lee and Bo Kim", "Ann Lee, Bo Kim"),
        ("Von Jana Vogt, Ulf Petersen und Mira Çelik", "Jana Vogt, Ulf Petersen, Mira Çelik"),
        ("Par Luc Morvan le 4 mars 2026", "Luc Morvan"),
        ("Diana Roe | 5 min read", "Diana Roe"),
        ("By Ann Lee, staff writer", "Ann Lee"),
    ],
)
def test_bylines(text: str, names: str) -> None:
    assert one(Page(f"<h1>T</h1><p class=byline>{text}</p><p>Text</p>", URL), "author") == names


@pytest.mark.parametrize(
    "price, lang, url, code",
    [
        ("$5", "en", "https://a.example.ca/", "CAD"),
        ("$5", "en", "https://a.example/", "USD"),
        ("149 kr.", "da", "https://a.example/", "DKK"),
        ("149 kr", "nb", "https://a.example/", "NOK"),
        ("149 kr", "en", "https://a.example/", None),
        ("149 lei", "ro", "https://a.example.md/", "MDL"),
        ("¥500", "ja", "https://a.example/", "JPY"),
        ("¥500", "zh-CN", "https://a.example/", "CNY"),
        ("12,50 €", "de", "https://a.example/", "EUR"),
        ("CHF 12.50", "de", "https://a.example/", "CHF"),
        ("R$ 5,00", "pt", "https://a.example/", "BRL"),
    ],
)
def test_the_currency_is_derived_from_the_price(price: str, lang: str, url: str, code: str | None) -> None:
    document = Page(f"<html lang={lang}><h1>T</h1><p>Price: {price}</p>", url)
    assert one(document, "currency") == code


@pytest.mark.parametrize(
    "title, heading, found",
    [
        ("Lamp | Shop", "", "Lamp"),
        ("Shop: Lamp", "", "Lamp"),
        ("Lamp - Buy now - Shop.example", "<h1>Lamp</h1>", "Lamp"),
        ("Lamp – The Light Company", "<h1>Lamp</h1>", "Lamp"),
        ("Spider-Man: No Way Home", "", "Spider-Man: No Way Home"),
        ("Blog: Lamps", '<h1 class=title><a href="/">Blog</a></h1><h2>Lamps</h2>', "Lamps"),
    ],
)
def test_the_title_is_without_the_name_of_the_site(title: str, heading: str, found: str) -> None:
    assert one(Page(f"<title>{title}</title>{heading}", URL), "title") == found


def test_the_page_gives_no_price_of_something_else() -> None:
    related = "".join(
        f"<li class=item><a href=/{n}><h3>x</h3></a><span class=price>{n} €</span></li>" for n in range(5)
    )
    assert one(Page(f"<h1>News</h1><p>Text</p><ul class=grid>{related}</ul>", URL), "price") is None
    shop = "<h1>Lamp</h1><p class=price><del>30 €</del> 20 €</p><div class=related><p class=price>1 €</p></div>"
    assert one(Page(shop, URL), "price") == "20 €"


def test_sources_are_read_only_when_a_name_needs_them() -> None:
    values = NamedValues(page(PRODUCT))
    assert "entities" not in values._sources.__dict__
    assert values.find("sku")[0].value == "L1"
    assert "labels" not in values._sources.__dict__
