"""Rules that pages without structured data need, each with the case that it must leave alone."""

import pytest

from corral.extract.names.named_values import NamedValues
from corral.extract.page import Page

URL = "https://www.site.example/thing/1"
AGENT = (
    '<script type="application/ld+json">'
    '{"@type": "RealEstateAgent", "name": "Blue Homes", "telephone": "1234567"}</script>'
)


def one(html: str, name: str, url: str = URL) -> str | None:
    found = NamedValues(Page(html, url)).find_one(name)
    return found.value if found is not None else None


def test_a_heading_that_nobody_closed_ends_at_the_first_block() -> None:
    assert one("<title>Clay pot :: Shop</title><h1>Clay pot<p><b>Price:</b> 4 €<p>Text", "title") == "Clay pot"
    assert one("<h1><div>Two</div> parts</h1>", "title") == "Two parts"


def test_without_an_h1_the_heading_in_the_title_counts() -> None:
    head = "<title>Town library catalogue - The quiet heath</title>"
    assert one(f"{head}<h2>The quiet heath</h2>", "title") == "The quiet heath"
    assert one(f"{head}<font size=5><b>The quiet heath</b></font>", "title") == "The quiet heath"
    assert one(f"{head}<h1>Search</h1><h2>The quiet heath</h2>", "h1") == "Search"


def test_the_business_that_runs_a_site_is_not_what_an_inner_page_is_about() -> None:
    inner = f"<title>Flat in Elm Street - Blue Homes</title>{AGENT}<h1>Flat in Elm Street</h1><p>250,000 €</p>"
    assert (one(inner, "title"), one(inner, "price"), one(inner, "phone")) == (
        "Flat in Elm Street",
        "250,000 €",
        "1234567",
    )
    first = f"{AGENT}<h1>Welcome</h1>"
    assert one(first, "title", "https://www.site.example/") == "Blue Homes"
    about = f"{AGENT}<h1>About Blue Homes</h1>"
    assert one(about, "title") == "Blue Homes"


@pytest.mark.parametrize(
    "body, price",
    [
        ("<p>285.000 €</p>", "285.000 €"),
        ("<p>It costs 285.000 € to build</p>", None),
        ("".join(f"<p>line {n}</p>" for n in range(9)) + "<p>5 €</p>", None),
        ("<div class=price>UVP 99 € jetzt 79 €</div>", "79 €"),
        ("<p><del>99 €</del> <b>79 €</b></p><button>Add to cart</button>", "79 €"),
        ("<dl><dt>Salary</dt><dd>4.000 €</dd></dl><p>4.000 €</p>", None),
    ],
)
def test_an_amount_that_stands_alone_below_the_heading_is_the_price(body: str, price: str | None) -> None:
    assert one(f"<h1>Thing</h1>{body}", "price") == price


def test_the_machine_readable_time_of_a_labelled_value_wins() -> None:
    body = "<dl><dt>Published</dt><dd><time datetime=2026-03-02>2 March 2026</time></dd></dl>"
    assert one(body, "date") == "2026-03-02"
    assert one("<dl><dt>Published</dt><dd>2 March 2026</dd></dl>", "date") == "2 March 2026"


def test_a_labelled_date_is_the_start_of_an_event_unless_it_is_one_of_publication() -> None:
    assert one("<h1>Walk</h1><dl><dt>Date</dt><dd>13 June 2026</dd></dl>", "start_date") == "13 June 2026"
    assert one("<h1>Book</h1><dl><dt>Published</dt><dd>13 June 2026</dd></dl>", "start_date") is None


def test_a_synonym_that_is_a_property_of_its_own_is_that_property() -> None:
    person = '<script type="application/ld+json">{"@type": "Person", "name": "Ann", "jobTitle": "Reader"}</script>'
    job = '<script type="application/ld+json">{"@type": "JobPosting", "title": "Cook"}</script>'
    assert (one(person, "job_title"), one(person, "name")) == ("Reader", "Ann")
    assert one(job, "job_title") == "Cook"


def test_contributors_and_dates_of_dublin_core_have_roles() -> None:
    metas = "".join(
        f'<meta name="DC.{name}" content="{value}"{scheme}>'
        for name, value, scheme in [
            ("date", "2021-10-01", ' scheme="dateSubmitted"'),
            ("date", "2023-04-12", ' scheme="DCTERMS.W3CDTF"'),
            ("contributor", "Ruth Pelham", ' scheme="inventor"'),
            ("contributor", "Pelham Ltd", ' scheme="assignee"'),
        ]
    )
    assert (one(metas, "date"), one(metas, "author")) == ("2023-04-12", "Ruth Pelham")


def test_an_address_in_lines_gives_its_parts() -> None:
    lines = "Autohof GmbH<br>Celler Heerstraße 12<br>38118 Braunschweig<br>Tel. 0531 / 88 20"
    body = f'<html lang="de"><h1>Auto</h1><p>{lines}</p>'
    values = [one(body, name) for name in ("address", "street", "postal_code", "city", "phone")]
    assert values == [
        "Celler Heerstraße 12, 38118 Braunschweig",
        "Celler Heerstraße 12",
        "38118",
        "Braunschweig",
        "0531 / 88 20",
    ]
    assert one("<h1>Text</h1><p>In 2024 there were 12000 visitors</p>", "address") is None


def test_a_heading_with_a_short_value_below_it_is_a_label() -> None:
    body = "<h1>Analyst</h1><div><h3>Company</h3><p>Swallow Ltd</p></div>"
    assert one(body, "company") == "Swallow Ltd"
    assert one(f"<h1>Analyst</h1><div><h3>Company</h3><p>{'We are a company. ' * 10}</p></div>", "company") is None


def test_rdfa_chains_by_rel() -> None:
    body = (
        '<div typeof="gr:Offering"><h1 property="gr:name">Spade</h1><div rel="gr:hasPriceSpecification">'
        '<div typeof="gr:UnitPriceSpecification"><i property="gr:hasCurrency" content="EUR"></i>'
        '<i property="gr:hasCurrencyValue" content="54.90"></i></div></div></div>'
    )
    assert (one(body, "price"), one(body, "currency")) == ("54.90", "EUR")


def test_a_nickname_keeps_its_digits() -> None:
    assert one("<h1>Swarm</h1><a class=username>bee64</a>", "author") == "bee64"


@pytest.mark.parametrize(
    "label, name",
    [
        ("Cena (z VAT)", "price"),
        ("販売価格（税込）", "price"),
        ("מחיר", "price"),
        ("Harga", "price"),
        ("सामग्री", "ingredients"),
        ("Erscheinungsjahr", "date"),
    ],
)
def test_labels_of_many_languages(label: str, name: str) -> None:
    assert one(f"<h1>x</h1><table><tr><td>{label}</td><td>2019</td></tr></table>", name) == "2019"


def test_a_table_that_holds_the_heading_is_the_layout_of_the_page() -> None:
    layout = "<table><tr><td>Menu<td><h1>Bridge</h1><i>by Ann Poe - 18 March 2026</i><p>It opens.</table>"
    assert (one(layout, "author"), one(layout, "date")) == ("Ann Poe", "18 March 2026")
    data = "<h1>Bridge</h1><table><tr><td>by Ann Poe - 18 March 2026</table>"
    assert one(data, "date") is None
