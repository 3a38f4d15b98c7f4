"""Rules for the values of a field: required, length, range, allowed values, pattern."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.fields.patterns import check_pattern, compile_pattern

MAX_ALLOWED = 1_000
_MAX_PROBLEMS = 20
_EMPTY: tuple[Any, ...] = (None, "", [], {})
# The key of the number in types that are stored as objects.
_NUMBER_KEYS = ("amount", "value")
Bound = int | float | str  # a number, or an ISO 8601 date, time or datetime
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class FieldRules:
    """Checks on the typed value of a field; each item of a list is checked."""

    required: bool = False
    min_length: int | None = None
    max_length: int | None = None
    min: Bound | None = None
    max: Bound | None = None
    allowed: tuple[Scalar, ...] = ()
    pattern: str | None = None  # a regular expression that matches anywhere in the text, as in JSON Schema

    def __post_init__(self) -> None:
        object.__setattr__(self, "allowed", tuple(self.allowed))  # a list where it was stored as JSON

    def document(self) -> dict[str, Any]:
        """Return the rules that are set, as they are stored."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        document = {name: value for name, value in named.items() if value is not None and value is not False}
        document.pop("allowed")
        return {**document, "allowed": list(self.allowed)} if self.allowed else document


def parse_rules(document: Any, *, field: str = "rules") -> FieldRules | None:
    """Parse rules from JSON or YAML; None without any. BadInput names the wrong rule."""
    if document is None:
        return None
    if not isinstance(document, Mapping):
        raise _bad("rules are an object, such as {required: true, max_length: 80}", field)
    names = {each.name for each in fields(FieldRules)}
    for key in document:
        if key not in names:
            raise _bad(
                f"unknown rule {str(key)[:60]!r}; there are {', '.join(sorted(names))}", f"{field}.{str(key)[:60]}"
            )
    required = document.get("required")
    if required is not None and not isinstance(required, bool):
        raise _bad("`required` is true or false", f"{field}.required")
    rules = FieldRules(
        required=bool(required),
        min_length=_parse_length(document, "min_length", field),
        max_length=_parse_length(document, "max_length", field),
        min=_parse_bound(document, "min", field),
        max=_parse_bound(document, "max", field),
        allowed=_parse_allowed(document, field),
        pattern=_parse_pattern(document, field),
    )
    _check_order(rules, field)
    return None if rules == FieldRules() else rules


def _parse_length(document: Mapping[Any, Any], key: str, field: str) -> int | None:
    value = document.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 2**31:
        raise _bad(f"`{key}` is a whole number of characters", f"{field}.{key}")
    return value


def _parse_bound(document: Mapping[Any, Any], key: str, field: str) -> Bound | None:
    value = document.get(key)
    if isinstance(value, date | time):  # YAML reads 2026-01-03 as a date
        value = value.isoformat()
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number and not (isinstance(value, str) and parse_moment(value) is not None):
        raise _bad(f"`{key}` is a number, or a date or time such as 2026-01-31", f"{field}.{key}")
    return value


def _parse_allowed(document: Mapping[Any, Any], field: str) -> tuple[Scalar, ...]:
    value = document.get("allowed")
    if value is None:
        return ()
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_ALLOWED:
        raise _bad(f"`allowed` is a list of 1 to {MAX_ALLOWED} values", f"{field}.allowed")
    if not all(isinstance(each, str | int | float | bool) for each in value):
        raise _bad("`allowed` holds texts, numbers, true and false", f"{field}.allowed")
    return tuple(value)


def _parse_pattern(document: Mapping[Any, Any], field: str) -> str | None:
    value = document.get("pattern")
    if value is None:
        return None
    if not isinstance(value, str):
        raise _bad("`pattern` is a regular expression", f"{field}.pattern")
    return check_pattern(value, field=f"{field}.pattern")


def _check_order(rules: FieldRules, field: str) -> None:
    if rules.min_length is not None and rules.max_length is not None and rules.min_length > rules.max_length:
        raise _bad(
            f"`min_length` {rules.min_length} is more than `max_length` {rules.max_length}", f"{field}.min_length"
        )
    if rules.min is None or rules.max is None:
        return
    order = compare(rules.min, rules.max)
    if order is None:
        raise _bad("`min` and `max` are of different kinds", f"{field}.min")
    if order > 0:
        raise _bad(f"`min` {rules.min} is more than `max` {rules.max}", f"{field}.min")


def parse_moment(text: str) -> datetime | time | None:
    """Parse a date, time or datetime in ISO 8601; a date stands for its first moment."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    try:
        return time.fromisoformat(text)
    except ValueError:
        return None


def compare(left: Any, right: Bound) -> int | None:
    """Return -1, 0 or 1; None if the values are of different kinds."""
    if isinstance(left, str) and isinstance(right, str):
        first, second = parse_moment(left), parse_moment(right)
        if first is None or second is None or type(first) is not type(second):
            return None
        if (first.tzinfo is None) != (second.tzinfo is None):  # without a zone, as written
            first, second = first.replace(tzinfo=None), second.replace(tzinfo=None)
        return (first > second) - (first < second)  # type: ignore[operator]
    if isinstance(left, str) or isinstance(right, str):
        return None
    return int(left > right) - int(left < right)


def check_rules(value: Any, rules: FieldRules) -> tuple[str, ...]:
    """Return the codes of the rules that a typed value breaks; each item of a list is checked.

    A pattern can take very long on a long text: the caller must bound the time.
    """
    if value in _EMPTY:
        return ("missing",) if rules.required else ()
    problems = dict.fromkeys(_check_value(value, rules))
    return tuple(problems)[:_MAX_PROBLEMS]


def _check_value(value: Any, rules: FieldRules) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _check_value(item, rules)
        return
    yield from _check_text(value, rules)
    yield from _check_range(value, rules)
    if rules.allowed and not any(_is_same(value, each) for each in rules.allowed):
        yield f"not_allowed:{str(value)[:60]}"


def _is_same(value: Any, allowed: Scalar) -> bool:
    """Return whether two values are equal; unlike in Python, true does not equal 1."""
    return bool(value == allowed) and isinstance(value, bool) == isinstance(allowed, bool)


def _check_text(value: Any, rules: FieldRules) -> Iterator[str]:
    named = [name for name in ("min_length", "max_length", "pattern") if getattr(rules, name) is not None]
    if not named:
        return
    if isinstance(value, dict | bool):
        yield from (f"rule_does_not_apply:{name}" for name in named)
        return
    text = str(value)
    if rules.min_length is not None and len(text) < rules.min_length:
        yield f"too_short:{len(text)}<{rules.min_length}"
    if rules.max_length is not None and len(text) > rules.max_length:
        yield f"too_long:{len(text)}>{rules.max_length}"
    if rules.pattern is not None and compile_pattern(rules.pattern).search(text) is None:
        yield "no_match"


def _check_range(value: Any, rules: FieldRules) -> Iterator[str]:
    for name, bound, wrong in (("min", rules.min, -1), ("max", rules.max, 1)):
        if bound is None:
            continue
        comparable = _comparable(value, bound)
        order = None if comparable is None else compare(comparable, bound)
        if order is None:
            yield f"rule_does_not_apply:{name}"
        elif order == wrong:
            yield f"out_of_range:{comparable}{'<' if wrong < 0 else '>'}{bound}"


def _comparable(value: Any, bound: Bound) -> Any:
    """Return the number or date of a value to compare with the bound. Exact decimals are stored as text."""
    if isinstance(value, dict):
        value = next((value[key] for key in _NUMBER_KEYS if key in value), None)
    if value is None or isinstance(value, bool | dict | list):
        return None
    if isinstance(value, str) and not isinstance(bound, str):
        try:
            return Decimal(value)
        except InvalidOperation:
            return None
    return value


def _bad(message: str, field: str) -> BadInput:
    return BadInput(message, field=field, hint="see docs/howto/fields.md", code="bad_rule")
