"""Numbers, percentages and ratings as pages write them."""

from tests.extract.types.tables import Row, convert_raw, find_unnoticed, find_wrong

NUMBERS: list[Row] = [
    ("48 pages", None, 48),
    ("1.234,50 €", None, 1234.5),
    ("1,234.50", None, 1234.5),
    ("1,234,567", None, 1234567),
    ("1.234.567", None, 1234567),
    ("1 234 567", None, 1234567),
    ("1\u00a0234,5", "fr", 1234.5),
    ("1\u202f234,5", "fr", 1234.5),
    ("1\u2009234,5", None, 1234.5),
    ("1'234.50", "de-CH", 1234.5),
    ("1’234.50", "de-CH", 1234.5),
    ("1,23,456.5", "hi", 123456.5),
    ("12,34,567", "en-IN", 1234567),
    ("12,99", None, 12.99),
    ("12.99", "de", 12.99),
    ("1.234", "de", 1234),
    ("1.234", "en", 1.234),
    ("1,234", "en", 1234),
    ("1,234", "de", 1.234),
    ("1.234", "de-CH", 1.234),
    ("1.234", "es-MX", 1.234),
    ("1.234", "es-ES", 1234),
    ("0.125", "de", 0.125),
    ("0,125", "en", 0.125),
    ("1234.567", "de", 1234.567),
    (".5", None, 0.5),
    ("-5", None, -5),
    ("−5", None, -5),
    ("+5", None, 5),
    ("item-5", None, 5),
    ("١٬٢٣٤٫٥", "ar", 1234.5),
    ("۱۲۳", "fa", 123),
    ("१२३", "hi", 123),
    ("１２３．５", "ja", 123.5),
    ("3½", None, 3.5),
    ("1e3", None, 1000),
    ("1.5M", None, 1500000),
    ("12K views", "en", 12000),
    ("2,5 Mio.", "de", 2500000),
    ("1,2 Mrd.", "de", 1200000000),
    ("3.5 million", "en", 3500000),
    ("1,5 млн", "ru", 1500000),
    ("3,5万", "ja", 35000),
    ("1.2億", "ja", 120000000),
    ("2 lakh", "en-IN", 200000),
    ("5 m", "en", 5),
    ("Ø 12 mm", "de", 12),
    ("20 mil", "en", 20),
    ("20 mil", "es", 20000),
    ("20 m²", None, 20),
    (7, None, 7),
    (7.5, None, 7.5),
    ("free", None, None),
    ("A4", None, None),
    ("mp3", None, None),
    ("03.01.2026", None, None),
    ("1,234.567,89", None, None),
    ("1.2.3", None, None),
    ("", None, None),
    (True, None, None),
    (float("nan"), None, None),
    ({"a": 1}, None, None),
    ("9" * 201, None, None),
]
INTEGERS: list[Row] = [
    ("48 pages", None, 48),
    ("1,234", "en", 1234),
    ("1.234", "de", 1234),
    ("12.0", None, 12),
    ("1.5", None, None),
    ("9223372036854775807", None, 9223372036854775807),
    ("9223372036854775808", None, None),
]
DECIMALS: list[Row] = [
    ("12,90", None, 12.9),
    ("0.1", None, 0.1),
    ("1234567890.123456789", None, "1234567890.123456789"),
    ("12345678901234567890", None, "12345678901234567890"),
    ("5", None, 5),
]
PERCENTAGES: list[Row] = [
    ("12,5 %", None, 12.5),
    ("12.5%", None, 12.5),
    ("-20%", None, -20),
    ("%15", "tr", 15),
    ("٥٪", "ar", 5),
    ("５０％", "ja", 50),
    ("2 for 1: 20 % off", None, 20),
    (12.5, None, 12.5),
    ("50 percent", "en", 50),
    ("0,5 ‰", None, None),
    ("half", None, None),
]
RATINGS: list[Row] = [
    ("4,5 von 5", "de", {"value": 4.5, "best": 5}),
    ("4.5/5", None, {"value": 4.5, "best": 5}),
    ("4.5 / 5", None, {"value": 4.5, "best": 5}),
    ("8.5/10", None, {"value": 8.5, "best": 10}),
    ("4.5 out of 5 stars", "en", {"value": 4.5, "best": 5}),
    ("4.5 stars out of 5", "en", {"value": 4.5, "best": 5}),
    ("4,5 sur 5 (120 avis)", "fr", {"value": 4.5, "best": 5, "count": 120}),
    ("4 de 5", "es", {"value": 4, "best": 5}),
    ("3 из 5", "ru", {"value": 3, "best": 5}),
    ("5つ星のうち4.3", "ja", {"value": 4.3, "best": 5}),
    ("★★★★☆", None, {"value": 4, "best": 5}),
    ("★★★½☆", None, {"value": 3.5, "best": 5}),
    ("★★★★★", None, {"value": 5, "best": 5}),
    ("★★☆☆☆ (31)", None, {"value": 2, "best": 5, "count": 31}),
    ("★ 4.5 (12)", None, {"value": 4.5, "best": None, "count": 12}),
    ("90 %", None, {"value": 90, "best": 100}),
    ("4,7 (1.234 Bewertungen)", "de", {"value": 4.7, "best": None, "count": 1234}),
    ("4.7 · 1,234 ratings", "en", {"value": 4.7, "best": None, "count": 1234}),
    ("star-rating Three", None, {"value": 3, "best": 5}),
    ({"ratingValue": "4.5", "bestRating": "5", "reviewCount": "12"}, None, {"value": 4.5, "best": 5, "count": 12}),
    ("6/5", None, None),
    ("good", None, None),
]


def test_numbers() -> None:
    assert find_wrong("number", NUMBERS) == []
    assert find_wrong("integer", INTEGERS) == []
    assert find_wrong("decimal", DECIMALS) == []


def test_percentages() -> None:
    assert find_wrong("percentage", PERCENTAGES) == []


def test_ratings() -> None:
    assert find_wrong("rating", RATINGS) == []


def test_a_number_with_another_reading_says_so() -> None:
    rows = [
        ("1.234", None, "ambiguous_number:decimal_sign"),
        ("1,234", None, "ambiguous_number:group_sign"),
        ("1 234", "en", "ambiguous_number:space_groups"),
        ("3 of 12", None, "several_numbers"),
        ("10–12", None, "range:10..12"),
        ("10 - 12", None, "range:10..12"),
        ("10-12", None, "range:10..12"),
        ("10 to 12", "en", "range:10..12"),
        ("10 bis 12", "de", "range:10..12"),
        ("10〜12", "ja", "range:10..12"),
        ("1–2 million", "en", "range:1000000..2000000"),
        ("9" * 201, None, "too_long"),
    ]
    assert find_unnoticed("number", rows) == []
    assert convert_raw("12345678901234567890", "number").problems == ("rounded",)
    assert find_unnoticed("percentage", [("50", None, "no_percent_sign"), ("10–20 %", None, "range:10..20")]) == []
    assert find_unnoticed("rating", [("4.5", None, "no_best")]) == []
