"""Currencies by code, symbol and word. A symbol of several countries is resolved by the page's country."""

import re

from corral.extract.types.locales import find_territory
from corral.extract.types.model import TypeContext

# Symbols of one currency. Symbols that contain letters match whole words only.
_SYMBOL_TABLE = """
€=EUR £=GBP ₹=INR ₽=RUB ₴=UAH ₺=TRY ₩=KRW ₫=VND ฿=THB ₪=ILS ₱=PHP ₦=NGN ₸=KZT ₼=AZN ₾=GEL ֏=AMD ₮=MNT
₭=LAK ৳=BDT ₡=CRC ₲=PYG ₵=GHS ﷼=IRR ₿=BTC 円=JPY 원=KRW ₠=EUR US$=USD U$S=USD R$=BRL A$=AUD AU$=AUD C$=CAD
CA$=CAD NZ$=NZD HK$=HKD S$=SGD SG$=SGD NT$=TWD MX$=MXN AR$=ARS CL$=CLP J$=JMD RM=MYR Rp=IDR zł=PLN zl=PLN
Kč=CZK Kc=CZK Ft=HUF лв=BGN TL=TRY Fr=CHF SFr=CHF SFR=CHF kn=HRK KSh=KES Ksh=KES TSh=TZS USh=UGX S/=PEN
B/.=PAB руб=RUB р=RUB Dhs=AED ₴.=UAH грн=UAH ден=MKD дин=RSD din=RSD тг=KZT сум=UZS đ=VND บาท=THB ש״ח=ILS ש"ח=ILS
Tk=BDT د.إ=AED ر.س=SAR ج.م=EGP د.ك=KWD ر.ق=QAR د.ب=BHD د.م=MAD ر.ع=OMR درهم=AED جنيه=EGP Ls=LVL Lt=LTL
DM=DEM 人民币=CNY 人民幣=CNY 港元=HKD 港幣=HKD 美元=USD ドル=USD ユーロ=EUR 欧元=EUR 달러=USD
"""
_SYMBOLS = dict(entry.split("=") for entry in _SYMBOL_TABLE.split())
# A code and the words for it on each line.
_WORD_TABLE = """
EUR euro euros eur евро евра євро ευρώ يورو eura eiro eurot
JPY yen yens
CNY yuan rmb renminbi
CHF franken sfr chf
PLN zloty złoty złotych złote
RUB рублей рубля рубль рубли
UAH гривень гривня гривні
HUF forint
BRL real reais
TRY lira lirası
THB baht
USD usd
GBP gbp
SEK sek
NOK nok
DKK dkk
PLN pln
CZK czk
INR inr
"""
_WORDS = {word: code for code, *words in map(str.split, _WORD_TABLE.strip().splitlines()) for word in words}
_DOLLARS = "USD CAD AUD NZD SGD HKD TWD MXN ARS CLP COP UYU BSD BBD BZD FJD JMD NAD TTD XCD"
# Symbols and words of several currencies: the default, and the currencies they may stand for.
_SHARED: dict[str, tuple[str | None, frozenset[str]]] = {
    "$": ("USD", frozenset(_DOLLARS.split())),
    "¥": ("JPY", frozenset({"JPY", "CNY"})),
    "元": ("CNY", frozenset({"CNY", "TWD", "HKD", "MOP"})),
    "圓": ("TWD", frozenset({"TWD", "HKD", "MOP"})),
    "Rs": ("INR", frozenset({"INR", "PKR", "LKR", "NPR", "MUR"})),
    "₨": ("PKR", frozenset({"PKR", "LKR", "NPR", "MUR", "INR"})),
    "kr": (None, frozenset({"SEK", "NOK", "DKK", "ISK"})),
    "DH": ("MAD", frozenset({"MAD", "AED"})),
    "lei": ("RON", frozenset({"RON", "MDL"})),
    "R": ("ZAR", frozenset({"ZAR"})),
    "Bs": ("BOB", frozenset({"BOB", "VES"})),
    "ريال": ("SAR", frozenset({"SAR", "QAR", "OMR", "YER"})),
    "دينار": (None, frozenset({"KWD", "BHD", "JOD", "IQD", "TND", "LYD", "DZD"})),
    "rupees": ("INR", frozenset({"INR", "PKR", "LKR", "NPR"})),
    "pesos": (None, frozenset({"MXN", "ARS", "CLP", "COP", "PHP", "UYU"})),
}
_SHARED_WORDS = {
    **dict.fromkeys(("dollar", "dollars", "dólares", "dólar", "dollari"), "$"),
    **dict.fromkeys(("pound", "pounds"), "£"),
    **dict.fromkeys(("kronor", "kroner", "kronen", "krónur", "kr", "kr."), "kr"),
    **dict.fromkeys(("rupee", "rupees"), "rupees"),
    **dict.fromkeys(("peso", "pesos"), "pesos"),
    **dict.fromkeys(("lei", "leu", "ron"), "lei"),
    **dict.fromkeys(("rs",), "Rs"),
    **dict.fromkeys(("bs",), "Bs"),
}
# Codes that are words too: `TOP 10`, `ALL 3`.
_WORD_CODES = "ALL AMD ANG BAM BOB COP CUP GEL LAK MAD MOP PEN SOS TOP TRY"
_WORDLIKE = frozenset(_WORD_CODES.split())
_CODE = re.compile(r"[A-Z]{3}")
_ALTERNATIVES = sorted((*_SYMBOLS, *_SHARED), key=len, reverse=True)
_TOUCHING_WORD = r"[^\W\d_]"
_MARK = re.compile(
    "|".join(
        (rf"(?<!{_TOUCHING_WORD})" if mark[0].isalpha() and mark[0].isascii() else "")
        + re.escape(mark)
        + (rf"(?!{_TOUCHING_WORD})" if mark[-1].isalpha() and not _CODE.match(mark) and mark[-1] < "\u0e00" else "")
        for mark in _ALTERNATIVES
    )
    + rf"|(?<!{_TOUCHING_WORD})[^\W\d_]{{2,10}}\.?"
)


def currency_of_mark(mark: str) -> str | None:
    """The currency that a sign or a word stands for; of several currencies the most usual one, if there is one."""
    if mark in _SYMBOLS:
        return _SYMBOLS[mark]
    return _SHARED[mark][0] if mark in _SHARED else _WORDS.get(mark.lower())


def find_currency(text: str, context: TypeContext, *, is_after: bool = True) -> tuple[str | None, float, str]:
    """The currency of a short text beside a number: its code, how sure that is, and the ambiguous mark.

    No other word may stand between it and the number: the 2 of `2 for £5` has no currency.
    """
    for match in _MARK.finditer(text):
        between = text[: match.start()] if is_after else text[match.end() :]
        found = None if _has_word(between, context) else _read_mark(match[0], context)
        if found is not None:
            return found
    return None, 1.0, ""


def _has_word(text: str, context: TypeContext) -> bool:
    """Whether a text has a word that is no currency: of `USD $` the first mark counts."""
    return any(_read_mark(match[0], context) is None for match in _MARK.finditer(text))


def _read_mark(mark: str, context: TypeContext) -> tuple[str | None, float, str] | None:
    if mark in _SYMBOLS:
        return _SYMBOLS[mark], 1.0, ""
    if mark in _SHARED:
        return _resolve_shared(mark, context)
    if _CODE.fullmatch(mark) and is_currency(mark):
        return mark, 0.6 if mark in _WORDLIKE and _currency_of(find_territory(context)[0]) != mark else 1.0, ""
    word = mark.lower().rstrip(".")
    if word in _WORDS:
        return _WORDS[word], 1.0, ""
    shared = _SHARED_WORDS.get(word)
    if shared in _SHARED:
        return _resolve_shared(shared, context)
    return ("GBP", 0.9, "") if shared == "£" else None


def _resolve_shared(mark: str, context: TypeContext) -> tuple[str | None, float, str]:
    default, options = _SHARED[mark]
    if context.currency in options:
        return context.currency, 1.0, ""
    territory, confidence = find_territory(context)
    local = _currency_of(territory)
    if local in options:
        return local, max(confidence, 0.8), ""
    if default is None:
        return None, 0.5, mark
    return default, 0.9 if territory else 0.8, ""


def local_currency(context: TypeContext) -> str | None:
    return _currency_of(find_territory(context)[0])


def is_currency(code: str) -> bool:
    from babel.core import get_global  # noqa: PLC0415

    return code in get_global("all_currencies")


def currency_digits(code: str) -> int:
    """How many decimals the amounts of a currency have: 2 for EUR, 0 for JPY, 3 for KWD."""
    from babel.numbers import get_currency_precision  # noqa: PLC0415

    return get_currency_precision(code)


def _currency_of(territory: str) -> str | None:
    if not territory:
        return None
    from babel.core import get_global  # noqa: PLC0415

    # Entries are (code, start, end, is_tender); the current one has no end.
    entries = get_global("territory_currencies").get(territory, ())
    return next((entry[0] for entry in entries if entry[2] is None and entry[3]), None)
