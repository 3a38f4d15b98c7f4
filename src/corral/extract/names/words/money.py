"""Prices in text, and the currency that a sign stands for."""

import re

from corral.extract.types.numeric.currencies import currency_of_mark

# Signs and short words that mean money in any text, the longer before those they contain.
_MARKS = """
    US$ NT$ HK$ AU$ CA$ NZ$ MX$ A$ C$ S$ R$ € £ ₹ ₽ ₺ ₩ ₴ ₪ ₫ ฿ ₱ ₦ ₸ ￥ ¥ $ 円 元 원 zł zl Kč Ft lei руб грн лв дин
    TL kr Fr SFr Rs د.إ ر.س ريال درهم ج.م جنيه Euro euros RM Rp ₡ S/
"""
# Of these it depends on the page which currency they mean.
_BY_PAGE = frozenset(("$", "¥", "￥", "kr"))
_SIGNS = tuple((sign, None if sign in _BY_PAGE else currency_of_mark(sign)) for sign in _MARKS.split())
_CODES = [
    "AED",
    "ARS",
    "AUD",
    "BGN",
    "BRL",
    "CAD",
    "CHF",
    "CLP",
    "CNY",
    "COP",
    "CZK",
    "DKK",
    "EGP",
    "EUR",
    "GBP",
    "HKD",
    "HRK",
    "HUF",
    "IDR",
    "ILS",
    "INR",
    "ISK",
    "JPY",
    "KRW",
    "KZT",
    "MAD",
    "MXN",
    "MYR",
    "NGN",
    "NOK",
    "NZD",
    "PEN",
    "PHP",
    "PLN",
    "RON",
    "RSD",
    "RUB",
    "SAR",
    "SEK",
    "SGD",
    "THB",
    "TRY",
    "TWD",
    "UAH",
    "USD",
    "VND",
    "ZAR",
]
# Which currency a shared sign means, by country (of the domain, or of `de-CH`), then by language.
_BY_COUNTRY = {
    "$": {
        "ca": "CAD", "au": "AUD", "nz": "NZD", "mx": "MXN", "ar": "ARS", "cl": "CLP", "co": "COP", "sg": "SGD",
        "hk": "HKD", "tw": "TWD", "us": "USD", "uy": "UYU",
    },
    "kr": {"se": "SEK", "dk": "DKK", "no": "NOK", "is": "ISK"},
    "¥": {"jp": "JPY", "cn": "CNY"},
}  # fmt: skip
_BY_LANGUAGE = {
    "kr": {"sv": "SEK", "da": "DKK", "no": "NOK", "nb": "NOK", "nn": "NOK", "is": "ISK"},
    "¥": {"ja": "JPY", "zh": "CNY"},
    "$": {},
}
_OTHERWISE = {"$": "USD", "¥": "JPY", "kr": "SEK"}
_BEFORE = "|".join(
    [
        "(?:US|CA|AU|NZ|HK|NT|MX) [$]",
        *(re.escape(sign) for sign, _ in _SIGNS if not sign.isalpha()),
        *("kr", "Fr", "SFr", "Rs", "RM", "Rp", "TL"),
        *_CODES,
    ]
)
_AFTER = "|".join([*(re.escape(sign) for sign, _ in _SIGNS), *_CODES])
_NUMBER = r"\d{1,3}(?:[.,'’\u00a0\u202f\u2009 ]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d{1,2})?(?!\d)"
_TAIL = r"(?:[,.](?:[-–—]{1,2}|–))?"
_MONEY = re.compile(
    rf"(?<![\w.,])(?:(?:{_BEFORE})\.?\s?-?(?:{_NUMBER}){_TAIL}(?:\s?(?:{'|'.join(_CODES)})\b)?"
    rf"|-?(?:{_NUMBER}){_TAIL}\s?(?:{_AFTER})(?![^\W\d_])(?:(?<=kr|Fr)\.|(?<=руб|грн|дин)\.|(?<=лв)\.)?)",
    re.IGNORECASE,
)
_CODE = re.compile(rf"(?<![A-Za-z])({'|'.join(_CODES)})(?![A-Za-z])")
_SIGN = [
    (
        re.compile(rf"(?<![^\W\d_]){re.escape(sign)}(?![^\W\d_])" if sign.isalpha() else re.escape(sign), re.I),
        sign,
        code,
    )
    for sign, code in _SIGNS
]


def find_money(text: str) -> list[str]:
    """Amounts with a currency, as they are written."""
    if not any(char.isdigit() for char in text):
        return []
    return [match[0].strip() for match in _MONEY.finditer(text)]


def currency_in(text: str, language: str | None, host: str) -> str | None:
    """The ISO code of the currency that a price is written in."""
    code = _CODE.search(text)
    if code is not None:
        return code[1]
    text = text.replace(" $", "$")  # US $5
    for pattern, sign, meaning in _SIGN:
        if pattern.search(text):
            return meaning or _currency_of_sign(sign, language, host)
    return None


def _currency_of_sign(sign: str, language: str | None, host: str) -> str:
    key = {"￥": "¥"}.get(sign, sign)
    tongue, _, country = (language or "").lower().replace("_", "-").partition("-")
    domain = host.rpartition(".")[2].lower()
    countries = _BY_COUNTRY[key]
    for place in (domain, country):
        if place in countries:
            return countries[place]
    return _BY_LANGUAGE[key].get(tongue) or _OTHERWISE[key]


def is_code(text: str) -> bool:
    return len(text) == 3 and text.isalpha() and text.isascii() and text.isupper()
