"""What the value of a field is made into. A value that cannot be is not there: better none than a wrong one."""

import re
from collections.abc import Sequence
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.jobs.job import FieldSpec
from corral.domain.net.url import parse_target

_NUMBER = re.compile(r"[-+\u2212]?\d[\d.,\u00a0\u202f' ]*")
_TRUE = frozenset({"true", "yes", "on", "1", "in stock", "available"})
_FALSE = frozenset({"false", "no", "off", "0", "out of stock", "unavailable", "sold out"})


def with_types(record: dict[str, Any], fields: Sequence[FieldSpec]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The record with each value of its type, and the fields whose value could not be made into it."""
    typed = {spec.name: spec.type for spec in fields if spec.type is not None}
    if not typed:
        return record, ()
    made = {name: _convert(value, typed[name]) if name in typed else value for name, value in record.items()}
    lost = tuple(name for name in typed if _is_empty(made.get(name)) and not _is_empty(record.get(name)))
    return made, lost


def _is_empty(value: Any) -> bool:
    return value in (None, "", [], {})


def _convert(value: Any, kind: str | None) -> Any:
    if kind == "list":
        return value if isinstance(value, list) else [] if value is None else [value]
    if isinstance(value, list):
        return [made for each in value if (made := _convert(each, kind)) is not None]
    if value is None:
        return None
    match kind:
        case "number":
            return number_of(value)
        case "integer":
            number = number_of(value)
            return int(number) if number is not None and float(number).is_integer() else None
        case "boolean":
            return _truth(value)
        case "url":
            return value if isinstance(value, str) and _is_address(value) else None
    return value if isinstance(value, str) else str(value)


def number_of(value: Any) -> int | float | None:
    """The first number in a text, as people write it: 1,234.50 and 1.234,50 are the same."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    found = _NUMBER.search(str(value))
    if found is None:
        return None
    text = re.sub(r"[\u00a0\u202f' ]", "", found[0]).replace("\u2212", "-").rstrip(".,")
    last = max(text.rfind("."), text.rfind(","))
    separators = {char for char in text if char in ".,"}
    if len(separators) == 2:
        text = text[:last].replace(".", "").replace(",", "") + "." + text[last + 1 :]
    elif text.count(",") + text.count(".") > 1 or (separators == {","} and len(text) - last == 4):
        text = text.replace(",", "").replace(".", "")  # of thousands
    else:
        text = text.replace(",", ".")
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() and "." not in text else number


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _is_address(text: str) -> bool:
    try:
        parse_target(text, max_chars=8192)
    except BadInput:
        return False
    return True
