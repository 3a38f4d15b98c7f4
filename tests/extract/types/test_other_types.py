"""Texts, booleans, web addresses, contacts, names, postal addresses and categories."""

from typing import Any

from corral.extract.types import TypeContext, convert
from tests.extract.types.tables import Row, convert_raw, find_unnoticed, find_wrong

BOOLEANS: list[Row] = [
    *[
        (text, None, True)
        for text in ("true", "Yes", "1", "ja", "Oui", "sí", "да", "tak", "はい", "是", "예", "نعم", "✓")
    ],
    *[
        (text, None, False)
        for text in ("false", "No", "0", "nein", "non", "não", "нет", "nie", "いいえ", "否", "لا", "✗")
    ],
    *[
        (text, None, True)
        for text in ("In stock", "In Stock (12)", "Auf Lager", "en stock", "有货", "在庫あり", "В наличии")
    ],
    *[(text, None, False) for text in ("sold out", "ausverkauft", "Rupture de stock", "agotado", "売り切れ", "품절")],
    ("https://schema.org/InStock", None, True),
    ("http://schema.org/OutOfStock", None, False),
    ("Auf Lager, in 2 Tagen bei Ihnen", "de", True),
    (True, None, True),
    (0, None, False),
    (2, None, None),
    ("Only 3 left in stock", "en", True),
    ("Temporarily out of stock", "en", False),
    ("Not in stock at the moment", "en", False),
    ("IN_STOCK", None, True),
    ("no smoking", "en", None),
    ("maybe", None, None),
]
URLS: list[Row] = [
    ("https://shop.example/1", None, "https://shop.example/1"),
    ("/x", None, "https://shop.example/x"),
    ("../y?z=1", None, "https://shop.example/y?z=1"),
    ("//cdn.example/z", None, "https://cdn.example/z"),
    ("?page=2", None, "https://shop.example/a/b?page=2"),
    ("page.html", None, "https://shop.example/a/page.html"),
    ("www.example.com", None, "https://www.example.com"),
    ("example.de/x", None, "https://example.de/x"),
    ("no url", None, None),
    ("hello", None, None),
    ("mailto:a@b.example", None, None),
    ("javascript:void(0)", None, None),
    ("http://", None, None),
    ("https://a b/", None, None),
    (12, None, None),
]
IMAGES: list[Row] = [
    ("/i.png", None, "https://shop.example/i.png"),
    ("a.jpg 1x, b.jpg 2x", None, "https://shop.example/a/b.jpg"),
    ("https://x.example/a.jpg 480w, https://x.example/b,c.jpg 800w", None, "https://x.example/b,c.jpg"),
    ("/small.jpg, /large.jpg 1.5x", None, "https://shop.example/large.jpg"),
    ("background: url('/bg.png')", None, "https://shop.example/bg.png"),
    ({"@type": "ImageObject", "url": "/x.png"}, None, "https://shop.example/x.png"),
    ("data:image/png;base64,AAAA", None, None),
]
EMAILS: list[Row] = [
    ("mailto:Bob@Example.COM?subject=x", None, "Bob@example.com"),
    ("write to a.b+c@d.example now", None, "a.b+c@d.example"),
    ("a (at) b (dot) com", None, "a@b.com"),
    ("info[at]müller.de", None, "info@müller.de"),
    ("[email protected]", None, None),
    ("a@b", None, None),
    ("jane at example dot org", None, "jane@example.org"),
    ("img@2x.png", None, None),
]
PHONES: list[Row] = [
    ("+49 30 123456", None, "+4930123456"),
    ("+49 (0)30 123456", None, "+4930123456"),
    ("030 / 123456", "de", "+4930123456"),
    ("Tel.: 030-123456", "de-DE", "+4930123456"),
    ("tel:+1-650-253-0000", None, "+16502530000"),
    ("(650) 253-0000", "en-US", "+16502530000"),
    ("01 23 45 67 89", "fr", "+33123456789"),
    ("03-1234-5678", "ja", "+81312345678"),
    ("０３−１２３４−５６７８", "ja", "+81312345678"),
    ("0043 1 5880", "de-AT", "+4315880"),
    ("020 7946 0958", "en-GB", "+442079460958"),
    ("+55 (11) 3091-3000", "pt-BR", "+551130913000"),
    ("(650) 253-0000", None, None),
    ("call us", "en", None),
    ("2026-01-03", "de", None),
    ("ISBN 978-3-16-148410-0", "de", None),
]
CATEGORIES: list[Row] = [
    ("A > B > C", None, ["A", "B", "C"]),
    ("A » B", None, ["A", "B"]),
    ("A -> B", None, ["A", "B"]),
    ("A › B", None, ["A", "B"]),
    ("A / B", None, ["A", "B"]),
    ("Toys/Lego", None, ["Toys", "Lego"]),
    ("Home > Toys", None, ["Toys"]),
    ("Startseite › Spielzeug", "de", ["Spielzeug"]),
    ("Home & Garden > Pots / Pans", None, ["Home & Garden", "Pots / Pans"]),
    ("Shoes", None, ["Shoes"]),
    (["Home", "Toys"], None, ["Toys"]),
    (["A > B", "C"], None, [["A", "B"], ["C"]]),
]
NAMES: list[tuple[Any, str | None, tuple[str | None, ...]]] = [
    ("Jane Doe", None, ("Jane", "Doe", None, None)),
    ("By Jane Doe", "en", ("Jane", "Doe", None, None)),
    ("Doe, Jane", None, ("Jane", "Doe", None, None)),
    ("Dr. John A. Smith Jr.", "en", ("John A.", "Smith", "Dr.", "Jr.")),
    ("Prof. Dr. Hans-Peter von der Müller", "de", ("Hans-Peter", "von der Müller", "Prof. Dr.", None)),
    ("M. Jean Dupont", "fr", ("Jean", "Dupont", "M.", None)),
    ("Ludwig van Beethoven", None, ("Ludwig", "van Beethoven", None, None)),
    ("Иванов Иван Иванович", "ru", ("Иван Иванович", "Иванов", None, None)),
    ("山田 太郎", "ja", ("太郎", "山田", None, None)),
    ("毛泽东", "zh", ("泽东", "毛", None, None)),
    ("von Goethe, Johann Wolfgang", "de", ("Johann Wolfgang", "von Goethe", None, None)),
    ("Von Max Mustermann", "de", ("Max", "Mustermann", None, None)),
    ("Kovács János", "hu", ("János", "Kovács", None, None)),
    ("김민수", "ko", ("민수", "김", None, None)),
    ({"givenName": "Jane", "familyName": "Doe"}, None, ("Jane", "Doe", None, None)),
]
ADDRESSES: list[tuple[Any, str | None, tuple[str | None, ...]]] = [
    ("Hauptstraße 5, 10115 Berlin", "de", ("Hauptstraße", "5", "10115", "Berlin", None, "DE")),
    ("Hauptstr. 5a\nD-10115 Berlin\nDeutschland", None, ("Hauptstr.", "5a", "10115", "Berlin", None, "DE")),
    ("Bahnhofstrasse 1, 8001 Zürich", "de-CH", ("Bahnhofstrasse", "1", "8001", "Zürich", None, "CH")),
    ("12 rue de la Paix, 75002 Paris", "fr", ("rue de la Paix", "12", "75002", "Paris", None, "FR")),
    ("350 Fifth Avenue, New York, NY 10118", "en-US", ("Fifth Avenue", "350", "10118", "New York", "NY", "US")),
    ("10 Downing Street, London SW1A 2AA", "en-GB", ("Downing Street", "10", "SW1A 2AA", "London", None, "GB")),
    ("221B Baker Street, London NW1 6XE, UK", None, ("Baker Street", "221B", "NW1 6XE", "London", None, "GB")),
    ("Via Roma, 5, 00184 Roma RM", "it", ("Via Roma", "5", "00184", "Roma", "RM", "IT")),
    ("Calle de Alcalá 50, 28014 Madrid", "es", ("Calle de Alcalá", "50", "28014", "Madrid", None, "ES")),
    ("Flat 2, 10 High Street, Leeds, LS1 4AB", "en-GB", ("High Street", "10", "LS1 4AB", "Leeds", None, "GB")),
    ("1062 Budapest, Andrássy út 60.", "hu", ("Andrássy út", "60", "1062", "Budapest", None, "HU")),
    ("Rua Augusta 100, 1100-053 Lisboa", "pt", ("Rua Augusta", "100", "1100-053", "Lisboa", None, None)),
    ("ул. Тверская, д. 7, Москва, 125009", "ru", ("ул. Тверская", "7", "125009", "Москва", None, "RU")),
    ("Damrak 1, 1012 LG Amsterdam", "nl", ("Damrak", "1", "1012 LG", "Amsterdam", None, "NL")),
    ("Kungsgatan 5, 111 43 Stockholm", "sv", ("Kungsgatan", "5", "111 43", "Stockholm", None, "SE")),
    (
        "ul. Marszałkowska 10/12, 00-590 Warszawa",
        "pl",
        ("ul. Marszałkowska", "10/12", "00-590", "Warszawa", None, "PL"),
    ),
    ("〒100-0001 東京都千代田区千代田1-1", "ja", ("千代田1-1", None, "100-0001", "千代田区", "東京都", "JP")),
    (
        {"streetAddress": "Hauptstr. 5", "postalCode": "10115", "addressLocality": "Berlin", "addressCountry": "DE"},
        None,
        ("Hauptstr.", "5", "10115", "Berlin", None, "DE"),
    ),
]


def test_texts() -> None:
    assert find_wrong("string", [("  a\n b ", None, "a b"), (12, None, "12"), ({"name": "x"}, None, "x")]) == []
    assert (
        find_wrong("text", [("a  b \n\n\n\n c\r\nd", None, "a b\n\nc\nd"), (12, None, "12"), (" ", None, None)]) == []
    )
    assert find_wrong("html", [("\n<p>a  b</p>\n", None, "<p>a  b</p>")]) == []
    assert find_wrong("markdown", [("\n# a\n\n    code\n", None, "# a\n\n    code")]) == []


def test_lists_are_converted_item_by_item() -> None:
    assert find_wrong("list", [("one", None, ["one"]), (None, None, []), ([1, "a"], None, [1, "a"])]) == []
    converted = convert_raw(["1", "2", "x"], "number")
    assert converted.value == [1, 2]
    assert converted.problems == ("not_a_number", "dropped_items:1")


def test_booleans() -> None:
    assert find_wrong("boolean", BOOLEANS) == []


def test_web_addresses() -> None:
    assert find_wrong("url", URLS) == []
    assert find_wrong("image", IMAGES) == []
    assert find_wrong("email", EMAILS) == []
    assert find_unnoticed("url", [("data:text/plain,x", None, "data_url"), ("ftp://x.example", None, "not_http")]) == []


def test_a_relative_url_needs_the_url_of_the_page() -> None:
    assert convert("/x", "url", TypeContext()).value is None


def test_phones() -> None:
    assert find_wrong("phone", PHONES) == []
    rows = [("(650) 253-0000", None, "no_country"), ("030 123456 oder 040 123456", "de", "several_phones")]
    assert find_unnoticed("phone", rows) == []
    assert convert_raw("020 7946 0958 ext. 12", "phone", "en-GB").problems == ("extension:12",)


def test_categories() -> None:
    assert find_wrong("category", CATEGORIES) == []


def test_names() -> None:
    keys = ("given", "family", "prefix", "suffix")
    assert find_wrong("name", [(raw, lang, dict(zip(keys, parts, strict=True))) for raw, lang, parts in NAMES]) == []
    assert find_wrong("name", [("12345", None, None), ("a@b.example", None, None)]) == []
    assert find_unnoticed("name", [("Madonna", None, "partial_name")]) == []
    rows = [("Jane Doe and John Smith", "en", "several_names"), ("Jane Doe, John Smith", "en", "several_names")]
    assert find_unnoticed("name", rows) == []


def test_postal_addresses() -> None:
    keys = ("street", "house_number", "postal_code", "city", "region", "country")
    rows = [(raw, lang, dict(zip(keys, parts, strict=True))) for raw, lang, parts in ADDRESSES]
    assert find_wrong("address", rows) == []
    assert find_wrong("address", [("hello", "en", None), ("Berlin", "de", None), ("Tel: 030 123456", "de", None)]) == []
    assert find_unnoticed("address", [("Acme GmbH, Hauptstr. 5, 10115 Berlin", "de", "unread:Acme GmbH")]) == []
