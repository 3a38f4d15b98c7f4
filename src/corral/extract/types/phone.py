"""The type `phone`: E.164, by the library phonenumbers."""

import re
from typing import Any
from urllib.parse import unquote

from corral.extract.types.characters import MAX_SHORT_CHARS, normalize_signs
from corral.extract.types.locales import find_territory
from corral.extract.types.model import Converted, TypeContext, fail

_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{4}")
_LETTERS = re.compile(r"[^\W\d_]")


def convert_phone(raw: Any, context: TypeContext) -> Converted:
    if isinstance(raw, int) and not isinstance(raw, bool):
        raw = str(raw)
    if not isinstance(raw, str) or len(raw) > MAX_SHORT_CHARS:
        return fail("not_a_phone" if not isinstance(raw, str) else "too_long")
    text = normalize_signs(raw).replace("\u202f", " ").strip()
    if text.lower().startswith(("tel:", "callto:", "sms:")):
        text = unquote(text.partition(":")[2]).partition(";")[0]
    if _DATE.fullmatch(text):
        return fail("not_a_phone")
    territory, confidence = find_territory(context)
    return _read(text, territory, confidence)


def _read(text: str, territory: str, confidence: float) -> Converted:
    import phonenumbers  # noqa: PLC0415

    region = territory or None
    # `(0)` after the country code applies only to calls inside the country.
    text = re.sub(r"(?<=\d)\s*\(0\)", "", text) if text.lstrip("( ").startswith(("+", "00")) else text
    found = [match.number for match in phonenumbers.PhoneNumberMatcher(text, region, max_tries=20)]
    if not found:
        try:
            number = phonenumbers.parse(text, region)
        except phonenumbers.NumberParseException as error:
            is_local = error.error_type == phonenumbers.NumberParseException.INVALID_COUNTRY_CODE and not region
            return fail("no_country" if is_local and sum(char.isdigit() for char in text) >= 5 else "not_a_phone")
        is_spelled = bool(_LETTERS.search(text)) and not phonenumbers.is_valid_number(number)
        if is_spelled or not phonenumbers.is_possible_number(number) or len(_LETTERS.findall(text)) > 12:
            return fail("not_a_phone")
        found, confidence = [number], min(confidence or 1.0, 0.5)
    elif _is_international(text):
        confidence = 1.0
    problems = (f"extension:{found[0].extension}",) if found[0].extension else ()
    if len({each.national_number for each in found}) > 1:
        problems, confidence = (*problems, "several_phones"), 0.5
    value = phonenumbers.format_number(found[0], phonenumbers.PhoneNumberFormat.E164)
    if not phonenumbers.is_valid_number(found[0]):
        problems = (*problems, "unassigned_number")
    return Converted(value, confidence, problems)


def _is_international(text: str) -> bool:
    digits = text.lstrip("( ")
    return "+" in text or digits.startswith("00")
