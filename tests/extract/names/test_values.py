"""Values as pages write them: prices, ratings, labels in lines, bylines, names in structured data."""

import time

import pytest

from corral.extract.names.named_values import NamedValues
from corral.extract.page import Page

URL = "https://www.shop.example/p/1"
BUY = "<button>Add to cart</button>"


def find(html: str, name: str) -> list[str]:
    return [each.value for each in NamedValues(Page(html, URL)).find(name)]


def ld(text: str) -> str:
    return f'<script type="application/ld+json">{text}</script>'


@pytest.mark.parametrize(
    "price",
    ["CHF 1'299.–", "1.299,- €", "$1,299.00", "1 299,00 kr", "€ 5,-", "1,299円", "₹ 1,299", "12,99 EUR", "5.000 Ft"],
)
def test_a_price_is_found_as_it_is_written(price: str) -> None:
    assert find(f"<h1>T</h1><div class=price>{price} incl. tax</div>{BUY}", "price") == [price]


@pytest.mark.parametrize(
    "html, name, values",
    [
        ("<p>SKU: L-1 | Brand: Acme | Color: red</p>", "brand", ["Acme"]),
        ("<p>Tel.: 030 123456, E-Mail: a@b.example</p>", "phone", ["030 123456"]),
        ("<ul><li>Versandkosten: 4,90 €</ul><p>19,90 €</p><button>In den Warenkorb</button>", "price", ["19,90 €"]),
        (f"<div class=rating>★★★★☆ 4.2 (128)</div>{BUY}", "rating", ["4.2"]),
        ("<div class=rating>4,2 von 5 <a>128 Bewertungen</a></div>", "review_count", ["128"]),
        ("<p>Disponibilité : En rupture de stock</p>", "availability", ["OutOfStock"]),
        ("<h3>Zutaten für 4 Portionen:</h3><ul><li>a<li>b</ul>", "ingredients", ["a", "b"]),
        ("<h3>Zubereitung</h3><p>Kochen.</p><p>Essen.</p>", "instructions", ["Kochen.", "Essen."]),
        ("<p>Autor: Juan Pérez y Ana Ruiz</p>", "author", ["Juan Pérez", "Ana Ruiz"]),
        ("<p>By <a rel=author>Ann Lee</a>, <a rel=author>Bo Kim</a></p>", "author", ["Ann Lee", "Bo Kim"]),
        ("<table><tr><th>Stelle</th><th>Ort</th></tr><tr><td>A</td><td>B</td></tr><tr><td>C</td><td>D</td></tr></table>",
         "location", []),
    ],
)  # fmt: skip
def test_values_in_text(html: str, name: str, values: list[str]) -> None:
    assert find(f"<h1>T</h1>{html}", name) == values


@pytest.mark.parametrize(
    "html, name, values",
    [
        (ld('{"@graph":[{"@type":"Product","offers":{"@id":"#o"}},{"@type":"Offer","@id":"#o","price":"5"}]}'), "price",
         ["5"]),
        (ld('{"@type":"Article","author":"Jane Doe and John Roe"}'), "author", ["Jane Doe", "John Roe"]),
        (ld('{"@type":"Article","author":{"givenName":"Jane","familyName":"Doe"}}'), "author", ["Jane Doe"]),
        (ld('{"@type":"Article","author":"Diana Roe"}'), "author", ["Diana Roe"]),
        (ld('{"@type":"Recipe","recipeIngredient":["salt","milk","salt"]}'), "ingredients", ["salt", "milk", "salt"]),
        (ld('{"@type":"Article","name":"New Zealand","headline":"a country"}') + "<h1>New Zealand</h1>", "title",
         ["New Zealand"]),
        (ld('{"@type":"Product","name":"P","review":[{"author":{"name":"Bob"}}]}'), "author", []),
        (ld('{"@type":"JobPosting","baseSalary":{"currency":"EUR","value":{"minValue":1,"maxValue":2}}}'), "salary",
         ["1 - 2 EUR"]),
        ("<meta name=author content='Jane Doe'><meta name=author content='Al Roe'>", "author", ["Jane Doe", "Al Roe"]),
        ('<ol vocab="https://schema.org/" typeof="BreadcrumbList"><li property="itemListElement" typeof="ListItem">'
         '<a property="item" typeof="WebPage" href="/b"><span property="name">Books</span></a></li></ol>',
         "breadcrumbs", ["Books"]),
        ("<span itemprop=name>Someone</span><span itemprop=price content=5></span><title>T</title>", "title", ["T"]),
        ("<span itemprop=name>Someone</span><span itemprop=price content=5></span>", "price", ["5"]),
    ],
)  # fmt: skip
def test_values_in_markup(html: str, name: str, values: list[str]) -> None:
    assert find(html, name) == values


def test_the_title_element_alone_names_the_page_but_no_product() -> None:
    shell = "<title>Shop</title><div id=root></div>"
    assert (find(shell, "title"), find(shell, "name")) == (["Shop"], [])
    assert find(f"{shell}<h1>Shop</h1>", "name") == ["Shop"]


@pytest.mark.parametrize(
    "html",
    [
        ld('{"a":' + "/*" * 100_000),
        ld('{"@type":"Product","offers":{"price":"' + "1" * 200_000 + '"}}'),
        "<table>" + "<tr><th>a<th>b</tr><tr><td>1<td>2</tr>" * 2_000,
        "<h1>x</h1>" + "<li class=i><h2><a href=x>t</a></h2><time>a</time></li>" * 3_000,
        "<title>" + " - a" * 5_000 + "</title><h1>" + " - b" * 5_000 + "</h1>",
        "<div itemscope itemref='a b'></div>" * 1_000 + "<div id=a>" + "<b itemprop=x>1</b>" * 1_000,
        "<div class=a>" * 2_000 + "<span itemprop=name>x</span>" * 200,
    ],
)
def test_hostile_pages_take_little_time(html: str) -> None:
    values = NamedValues(Page(html, URL))
    began = time.process_time()
    for name in ("title", "author", "date", "price", "sku", "currency"):
        values.find_one(name)
    # Quadratic ones took minutes.
    assert time.process_time() - began < 5
