"""The type `money`: an amount and its currency."""

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from corral.extract.types.characters import MAX_SHORT_CHARS, normalize_signs, to_text
from corral.extract.types.model import Converted, TypeContext, fail
from corral.extract.types.numeric.currencies import currency_digits, find_currency, is_currency, local_currency
from corral.extract.types.numeric.numbers import NumberReading, read_numbers, store_exact, to_decimal
from corral.extract.types.numeric.tokens import prepare_number_text

_AMOUNT_KEYS = ("amount", "price", "value", "lowPrice", "minPrice")
_CURRENCY_KEYS = ("currency", "priceCurrency")
_FREE = frozenset(
    {
        *(
            "free",
            "gratis",
            "kostenlos",
            "kostenfrei",
            "gratuit",
            "gratuito",
            "grátis",
            "bezpłatnie",
            "darmowe",
            "zdarma",
        ),
        *(
            "бесплатно",
            "безкоштовно",
            "ücretsiz",
            "無料",
            "免费",
            "免費",
            "무료",
            "مجاني",
            "מחינם",
            "חינם",
            "ingyenes",
            "ilmainen",
        ),
    }
)
# `12€99`: the currency sign replaces the decimal sign.
_SIGN_INSIDE = re.compile(r"(?<![\d.,])(\d{1,6}) ?([€$£]) ?(\d{2})(?![\d.,])")
# A hundredth of a currency: `99¢`, `50p`, `80 Cent`.
_CENTS = re.compile(
    r"\s?(?P<mark>¢|p(?:ence)?(?!\w)|cents?(?!\w)|ct\.?(?!\w)|centimes?(?!\w)|коп\.?(?!\w))", re.IGNORECASE
)
_CENTS_OF = {"¢": "$", "p": "£", "pence": "£", "коп": "руб", "коп.": "руб"}
# Words before an old price.
_OLD_PRICE = re.compile(
    r"(?<!\w)(?:statt|uvp|vorher|bisher|was|rrp|msrp|list|before|old|originally|avant|antes|prima|était|era|было|przed|před|"
    r"instead of|au lieu de|tidigare|før|voorheen|van|定価|通常価格|原价|原價)\W*$",
    re.IGNORECASE,
)
_SPACED_DOLLAR = re.compile(r"(?<!\w)(US|AU|CA|NZ|HK|SG|NT|MX) \$")
_SWEDISH = re.compile(r"(?<=\d):-")  # `1299:-`
# Maximum distance of a currency from its number, in characters.
_REACH = 12


def convert_money(raw: Any, context: TypeContext) -> Converted:
    if isinstance(raw, Mapping):
        return _convert_document(raw, context)
    if isinstance(raw, bool):
        return fail("not_money")
    if isinstance(raw, int | float):
        return _convert_plain(raw, context)
    text = to_text(raw)
    if text is None or len(text) > MAX_SHORT_CHARS:
        return fail("not_money" if text is None else "too_long")
    text = _SIGN_INSIDE.sub(r"\1.\3 \2", prepare_number_text(normalize_signs(text)))
    text = _SWEDISH.sub(" kr", _SPACED_DOLLAR.sub(r"\1$", text))
    if text.strip().rstrip("!.").lower() in _FREE:
        return _store(Decimal(0), *_default_currency(context))
    priced = [
        (reading, *_currency_near(text, reading, context)) for reading in read_numbers(text, context, is_price=True)
    ]
    if not priced:
        return fail("not_money")
    return _choose(text, priced, context)


def _choose(text: str, priced: list[tuple[NumberReading, str | None, float, str]], context: TypeContext) -> Converted:
    """Choose the first number with a currency that is not an old price, else the first number."""
    with_currency = [each for each in priced if each[1] or each[3]]
    current = [
        each for each in with_currency or priced if not _OLD_PRICE.search(text[: each[0].token.start].rstrip("$€£¥ "))
    ]
    reading, currency, confidence, mark = (current or with_currency or priced)[0]
    problems = reading.problems
    if currency is None and mark:
        problems = (*problems, f"ambiguous_currency:{mark}")
    elif currency is None:
        currency, confidence = _default_currency(context)
    others = {each[0].number for each in with_currency or priced} - {reading.number}
    if others:
        problems, confidence = (*problems, "several_amounts"), min(confidence, 0.5)
    number = _apply_precision(reading, currency)
    if _CENTS.match(text, reading.token.end):
        number = number.scaleb(-2)
    if _is_negative(text, reading):
        number = -abs(number)
    return _store(number, currency, min(confidence, reading.confidence), problems)


def _apply_precision(reading: NumberReading, currency: str | None) -> Decimal:
    """Return `1.234` as written for a currency with three decimals, such as KWD: prices read it as thousands."""
    if currency and re.fullmatch(r"\d{1,3}\.\d{3}", reading.token.body) and currency_digits(currency) == 3:
        return Decimal(reading.token.body)
    return reading.number


def _is_negative(text: str, reading: NumberReading) -> bool:
    """Return whether a minus at the start of the text precedes the currency or number: `-$5`, `- 5,00 €`."""
    before = text[: reading.token.start].strip()
    return bool(re.fullmatch(r"-\s*\D{0,4}", before))


def _currency_near(text: str, reading: NumberReading, context: TypeContext) -> tuple[str | None, float, str]:
    start, end = reading.token.start, reading.token.end
    if text[end:].lstrip(" \u202f").startswith("%"):
        return None, 1.0, ""
    if cents := _CENTS.match(text, end):
        return _cents_currency(cents["mark"].lower(), context)
    after = re.match(r"[^\d]*", text[end : end + _REACH])
    before = re.search(r"[^\d]*$", text[max(0, start - _REACH) : start])
    sides = (after[0] if after else "", before[0] if before else "")
    # Check first the side where the mark touches the number: the 5 of `$5 €6` has a mark on both sides.
    ordered = sides if not sides[1].rstrip() or sides[1][-1:].isspace() else sides[::-1]
    for side in ordered:
        currency, confidence, mark = find_currency(side, context, is_after=side is sides[0])
        if currency or mark:
            return currency, confidence, mark
    return None, 1.0, ""


def _cents_currency(mark: str, context: TypeContext) -> tuple[str | None, float, str]:
    sign = _CENTS_OF.get(mark)
    if sign:
        return find_currency(sign, context)
    currency, confidence = _default_currency(context)
    return currency or local_currency(context), min(confidence, 0.8), ""


def _default_currency(context: TypeContext) -> tuple[str | None, float]:
    if context.currency and is_currency(context.currency.upper()):
        return context.currency.upper(), 0.9
    return None, 0.7


def _convert_plain(raw: int | float, context: TypeContext) -> Converted:
    number = to_decimal(raw)
    return fail("not_money") if number is None else _store(number, *_default_currency(context))


def _convert_document(raw: Mapping[Any, Any], context: TypeContext) -> Converted:
    """Convert an object with amount and currency, of structured data or of an earlier conversion."""
    amount = next((raw[key] for key in _AMOUNT_KEYS if raw.get(key) is not None), None)
    currency = next((raw[key] for key in _CURRENCY_KEYS if raw.get(key)), None)
    if amount is None or isinstance(amount, Mapping | list):
        return fail("not_money")
    code = str(currency).strip().upper()[:3] if currency else None
    known_code = code if code and is_currency(code) else None
    if code and known_code is None:
        known_code, _, _ = find_currency(normalize_signs(str(currency)[:_REACH]), context)
    converted = convert_money(amount, replace(context, currency=known_code or context.currency))
    if converted.value is None or known_code is None:
        return converted
    problems = tuple(problem for problem in converted.problems if problem != "no_currency")
    confidence = 1.0 if not problems else converted.confidence
    return Converted({**converted.value, "currency": known_code}, confidence, problems)


def _store(number: Decimal, currency: str | None, confidence: float, problems: tuple[str, ...] = ()) -> Converted:
    if currency is None and not any(problem.startswith("ambiguous_currency") for problem in problems):
        problems = (*problems, "no_currency")
    return Converted({"amount": store_exact(number), "currency": currency}, confidence, problems)
