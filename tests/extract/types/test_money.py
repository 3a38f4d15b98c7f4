"""Prices as shops write them."""

from corral.extract.types import TypeContext, convert
from corral.extract.types.numeric.currencies import is_currency, resolve_mark
from corral.extract.types.numeric.currency_tables import TEXT_CODES, TEXT_MARKS
from tests.extract.types.tables import find_unnoticed, find_wrong

PRICES: list[tuple[object, str | None, float | None, str | None]] = [
    ("1.234,56 €", None, 1234.56, "EUR"),
    ("1 234,56 €", "fr", 1234.56, "EUR"),
    ("€1,234.56", "en-IE", 1234.56, "EUR"),
    ("EUR 12", None, 12, "EUR"),
    ("EUR12", None, 12, "EUR"),
    ("12 Euro", "de", 12, "EUR"),
    ("1'234.50 CHF", "de-CH", 1234.5, "CHF"),
    ("CHF 1’234.50", None, 1234.5, "CHF"),
    ("Fr. 12.50", "de-CH", 12.5, "CHF"),
    ("₹1,23,456.00", None, 123456, "INR"),
    ("Rs. 500", "en-IN", 500, "INR"),
    ("Rs500", "en-PK", 500, "PKR"),
    ("kr 1 299,-", "nb", 1299, "NOK"),
    ("1 299 kr", "sv", 1299, "SEK"),
    ("1.299,00 kr.", "da", 1299, "DKK"),
    ("¥12,800", "ja", 12800, "JPY"),
    ("￥12,800", "zh-CN", 12800, "CNY"),
    ("12.800円", "ja", 12800, "JPY"),
    ("3,5万円", "ja", 35000, "JPY"),
    ("1200元", "zh-TW", 1200, "TWD"),
    ("NT$1,200", None, 1200, "TWD"),
    ("HK$ 88", None, 88, "HKD"),
    ("₩12,000", None, 12000, "KRW"),
    ("12,000원", "ko", 12000, "KRW"),
    ("R$ 1.234,56", "pt-BR", 1234.56, "BRL"),
    ("$1.5M", "en-US", 1500000, "USD"),
    ("$12", "en-AU", 12, "AUD"),
    ("$12", "es-MX", 12, "MXN"),
    ("A$ 12", None, 12, "AUD"),
    ("US$ 12", "es-MX", 12, "USD"),
    ("£12.99", None, 12.99, "GBP"),
    ("12.99 pounds", "en", 12.99, "GBP"),
    ("12,99 zł", "pl", 12.99, "PLN"),
    ("1 299,00 Kč", "cs", 1299, "CZK"),
    ("12 990 Ft", "hu", 12990, "HUF"),
    ("12,50 руб.", "ru", 12.5, "RUB"),
    ("1 234,00 ₽", "ru", 1234, "RUB"),
    ("125,00 грн", "uk", 125, "UAH"),
    ("125,00 лв.", "bg", 125, "BGN"),
    ("99,90 lei", "ro", 99.9, "RON"),
    ("1.299,00 TL", "tr", 1299, "TRY"),
    ("₺1.299", "tr", 1299, "TRY"),
    ("د.إ ١٢٫٥٠", "ar", 12.5, "AED"),
    ("100 ر.س", "ar", 100, "SAR"),
    ("₪ 49.90", "he", 49.9, "ILS"),
    ("Rp 150.000", "id", 150000, "IDR"),
    ("150.000 ₫", "vi", 150000, "VND"),
    ("฿1,200.00", "th", 1200, "THB"),
    ("RM 49.90", "ms", 49.9, "MYR"),
    ("R 1 299.00", "en-ZA", 1299, "ZAR"),
    ("S/ 12.50", "es-PE", 12.5, "PEN"),
    ("1.234 KWD", None, 1.234, "KWD"),
    ("1.299 €", "en", 1299, "EUR"),
    ("12€99", "fr", 12.99, "EUR"),
    ("12⁹⁹ €", "fr", 12.99, "EUR"),
    ("ab 49,– €", "de", 49, "EUR"),
    ("2 for £5", "en-GB", 5, "GBP"),
    ("save 20%: $80", "en-US", 80, "USD"),
    ("USD $5.00", "en", 5, "USD"),
    ("AU $12.00", "en", 12, "AUD"),
    ("1 299:-", "sv", 1299, "SEK"),
    ("Rp 1,5 juta", "id", 1500000, "IDR"),
    ("statt 19,99 € nur 14,99 €", "de", 14.99, "EUR"),
    ("Was £12.99 Now £9.99", "en-GB", 9.99, "GBP"),
    ("99¢", "en-US", 0.99, "USD"),
    ("50p", "en-GB", 0.5, "GBP"),
    ("80 Cent", "de", 0.8, "EUR"),
    ("12,50 DH", "fr-MA", 12.5, "MAD"),
    ("1 299 р.", "ru", 1299, "RUB"),
    ("-$5.00", "en-US", -5, "USD"),
    ("Pack of 6: 12,99 €", "de", 12.99, "EUR"),
    ("(incl. VAT) £12.99", "en-GB", 12.99, "GBP"),
    ("Price: USD 12.50 each", "en", 12.5, "USD"),
    ("12,99", "de", 12.99, None),
    ("gratis", "de", 0, None),
    ({"price": "12.50", "priceCurrency": "EUR"}, None, 12.5, "EUR"),
    ({"amount": 12.5, "currency": None}, None, 12.5, None),
]


def test_prices() -> None:
    rows = [(raw, language, {"amount": amount, "currency": code}) for raw, language, amount, code in PRICES]
    assert find_wrong("money", rows) == []
    assert find_wrong("money", [("sold", None, None), (True, None, None), ({"price": None}, None, None)]) == []


def test_a_price_with_another_reading_says_so() -> None:
    rows = [
        ("10–12 €", "de", "range:10..12"),
        ("$10.00 - $12.00", "en-US", "range:10..12"),
        ("20,00 € 15,00 €", "de", "several_amounts"),
        ("1 299 kr", None, "ambiguous_currency:kr"),
        ("12,99", "de", "no_currency"),
        ("1.299 €", "en", "ambiguous_number:group_sign"),
    ]
    assert find_unnoticed("money", rows) == []


def test_the_currency_of_the_page_is_used_where_a_price_names_none() -> None:
    context = TypeContext(language="de", currency="CHF")
    assert convert("12,99", "money", context).value == {"amount": 12.99, "currency": "CHF"}
    assert convert("12,99 €", "money", context).value == {"amount": 12.99, "currency": "EUR"}
    assert convert("$5", "money", TypeContext(currency="CAD")).value == {"amount": 5, "currency": "CAD"}


def test_the_domain_of_a_page_tells_its_country() -> None:
    context = TypeContext(base_url="https://shop.example.se/x")
    assert convert("1 299 kr", "money", context).value == {"amount": 1299, "currency": "SEK"}


def test_every_mark_of_prices_in_text_is_in_the_table() -> None:
    on_a_swedish_page = TypeContext(language="sv-SE")
    assert [mark for mark in TEXT_MARKS if resolve_mark(mark, on_a_swedish_page) is None] == []
    assert [code for code in TEXT_CODES if not is_currency(code)] == []
