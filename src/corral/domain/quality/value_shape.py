"""The shape of a value: its kind, unit, length and size, without its meaning."""

import math
import re
from typing import Any, NamedTuple

MAX_TEXT = 4_000  # characters that are analysed; `length` is that of the whole value

_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "zł": "PLN", "kr": "KR", "₩": "KRW"}
_SIGN = r"(?:US\$|C\$|A\$|[€$£¥₹₽₩]|zł|kr\.?|Kč|Ft|CHF|[A-Z]{3}(?![A-Za-z]))"
_NUMBER = r"[-+]?\d[\d.,'\u00a0\u202f ]*"
_MONEY = re.compile(
    rf"(?:(?P<before>{_SIGN})\s?(?P<first>{_NUMBER})|(?P<second>{_NUMBER})\s?(?P<after>{_SIGN}))(?:,?-)?"
)
_PLAIN_NUMBER = re.compile(rf"{_NUMBER}%?")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?")
_NUMERIC_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?:[ ,]+\d{1,2}:\d{2}.{0,10})?")
_WORD_DATE = re.compile(
    r"(?:\w{2,12}\.?,? )?(?:\d{1,2}(?:st|nd|rd|th|er|\.)?(?: de)? [^\W\d]{3,12}\.?,?(?: de)? \d{4}"
    r"|[^\W\d]{3,12}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4}|\d{4}[年년]\s?\d{1,2}[月월]\s?\d{1,2}[日일])"
)
_URL = re.compile(r"(?:https?:)?//\S+|/[\w./%-]+")
_PLACEHOLDER = re.compile(
    r"(?:n\s?/\s?a|n\.a\.|k\.\s?a\.|s\.o\.|nan|null|none|nil|undefined|unknown|tb[adc]|todo|[-–—?.…_*]+|x{3,}|"
    r"lorem ipsum.*|placeholder|test|sample|default|loading\.*…?|\{\{.*\}\}|\$\{.*\}|%\w+%|\[object object\]|"
    r"unbekannt|inconnu|desconocido|sconosciuto|brak|нет данных|不明|未知)",
    re.IGNORECASE | re.DOTALL,
)
_REFUSAL = re.compile(
    r"^\W*404\b|\b404\W*$|\b(?:error|status|http|code|fehler|erreur|errore?|erro|fout)\W*404\b|"
    r"\b404\b.{0,20}\b(?:error|not found)|^\W*not found|not found\W*$|not found\s+[-–—|·:]|"
    r"\b(?:page|site|url|address|file|resource|document|content|product|article|item|listing|server|error)\b"
    r".{0,60}\bnot found|"
    r"\bnot found on (?:this|the) (?:server|site)|no longer (?:available|exists)|access denied|"
    r"^\W*(?:403\W*)?forbidden\W*(?:403\W*)?$|\b403\W+forbidden|access (?:is )?forbidden|"
    r"are you (?:a )?(?:human|robot)|captcha|"
    r"verify you are|just a moment|unusual traffic|^(?:please )?(?:sign|log) ?in\b|(?:sign|log) in to|"
    r"nicht gefunden|nicht mehr verfügbar|zugriff verweigert|^(?:bitte )?(?:anmelden|einloggen)\b|melden sie sich an|"
    r"introuvable|non trouvée?|accès refusé|^(?:se connecter|connexion|connectez-vous)\b|identifiez-vous|"
    r"no encontrad[ao]|acceso denegado|^inici(?:ar|e|a) (?:de )?sesión|non trovat[ao]|accesso negato|^accedi\b|"
    r"não encontrad[ao]|^(?:entrar|iniciar sessão|faça login)\b|niet gevonden|^inloggen\b|nie znaleziono|"
    r"^zaloguj się|не найден[ао]?|^войдите|見つかりません|ログイン|未找到|请登录|찾을 수 없|로그인",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[^\W\d][\w ]{0,24}\s?[:：]\s?\S")
_CUT = re.compile(r"(?:…|\.\.\.|\[…\]|\[\.\.\.\])\s*$")
_END_CHARS = 8  # characters at the end that may mark a truncated text
_MAX_REFUSAL = 120  # a longer text may mention logins without being a refusal


class ValueShape(NamedTuple):
    """The shape of a value that is not empty."""

    kind: str  # money, number, date, url, boolean, text
    units: tuple[str, ...] = ()  # `currency:EUR`, `decimal:,`, `date:day-first`, if the value shows them
    length: int = 0
    size: float | None = None  # of a number
    text: str = ""
    is_placeholder: bool = False
    is_refusal: bool = False
    is_cut: bool = False
    has_label: bool = False


def describe_value(value: Any) -> ValueShape:
    """Return the shape of one value: a text, a number, a boolean or an amount of money."""
    if isinstance(value, bool):
        return ValueShape("boolean", length=1, text=str(value))
    if isinstance(value, int | float):
        return ValueShape("number", length=len(str(value)), size=abs(float(value)), text=str(value))
    if isinstance(value, dict):
        return _describe_money(value)
    return _describe_text(str(value))


def is_money(value: Any) -> bool:
    """Return whether a value is an amount with its currency, as the type `money` produces it."""
    return isinstance(value, dict) and "amount" in value and "currency" in value


def _describe_money(value: dict[str, Any]) -> ValueShape:
    text = f"{value.get('amount')} {value.get('currency')}"
    size = _size(str(value.get("amount")))
    units = (f"currency:{value['currency']}",) if value.get("currency") else ()
    return ValueShape("money", units, len(text), size, text, is_placeholder=size == 0)


def _describe_text(whole: str) -> ValueShape:
    text = " ".join(whole[:MAX_TEXT].split())
    length = len(whole.strip())
    if _PLACEHOLDER.fullmatch(text):
        return ValueShape("text", length=length, text=text, is_placeholder=True)
    if match := _MONEY.fullmatch(text):
        number = match["first"] or match["second"]
        sign = (match["before"] or match["after"]).rstrip(".")
        size = _size(number)
        units = (f"currency:{_SIGNS.get(sign, sign)}", *_decimal_unit(number))
        return ValueShape("money", units, length, size, text, is_placeholder=size == 0)
    if date := _describe_date(text):
        return ValueShape("date", (f"date:{date}",), length, text=text)
    if _PLAIN_NUMBER.fullmatch(text):
        return ValueShape("number", _decimal_unit(text), length, _size(text), text)
    if _URL.fullmatch(text):
        return ValueShape("url", length=length, text=text)
    return ValueShape(
        "text",
        length=length,
        text=text,
        is_refusal=len(text) <= _MAX_REFUSAL and _REFUSAL.search(text) is not None,
        is_cut=_CUT.search(text[-_END_CHARS:]) is not None,
        has_label=_LABEL.match(text) is not None,
    )


def _describe_date(text: str) -> str:
    """Return `iso`, `words`, `day-first`, `month-first`, `numeric` if the order is ambiguous, or "" for no date."""
    if _ISO_DATE.fullmatch(text):
        return "iso"
    if _WORD_DATE.fullmatch(text):
        return "words"
    match = _NUMERIC_DATE.fullmatch(text)
    if match is None:
        return ""
    first, second = int(match[1]), int(match[3])
    if first > 12 >= second:
        return "day-first"
    return "month-first" if second > 12 >= first else "numeric"


def swap_date(text: str) -> str | None:
    """Return a numeric date with day and month swapped; None if that is no other date."""
    match = _NUMERIC_DATE.fullmatch(text)
    if match is None or match[1] == match[3]:
        return None
    return f"{match[3]}{match[2]}{match[1]}{text[match.start(2) :][len(match[2] + match[3]) :]}"


def decimal_sign(text: str) -> str:
    """Return `,` or `.` if the number shows which of them separates its decimals, or an empty text."""
    comma, dot = text.rfind(","), text.rfind(".")
    if comma >= 0 and dot >= 0:
        return "," if comma > dot else "."
    sign = "," if comma >= 0 else "." if dot >= 0 else ""
    if not sign:
        return ""
    if text.count(sign) > 1:  # 1.234.567, and neither a version nor an IP address
        is_grouped = all(len(part) == 3 for part in re.sub(r"\D+$", "", text).split(sign)[1:])
        return {",": ".", ".": ","}[sign] if is_grouped else ""
    decimals = len(re.sub(r"\D+$", "", text)) - text.rfind(sign) - 1
    return sign if decimals != 3 else ""


def _decimal_unit(number: str) -> tuple[str, ...]:
    sign = decimal_sign(number.strip())
    return (f"decimal:{sign}",) if sign else ()


def _size(number: str) -> float | None:
    sign = decimal_sign(number) or "."
    digits = re.sub(r"[^\d.,]", "", number).replace("." if sign == "," else ",", "").replace(sign, ".")
    try:
        size = abs(float(digits))
    except ValueError:
        return None
    return size if math.isfinite(size) else None
