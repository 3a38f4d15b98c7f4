"""Conditions of steps: `${steps.a.output.count} > 0`, or one operand that has to be true."""

import operator
import re
from collections.abc import Callable
from typing import Any

import orjson

from corral.domain.workflows.references import Lookup, parse_reference, resolve_value

_COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_OPERAND = r"\$\{[^{}]*\}|\"(?:[^\"\\]|\\.)*\"|'[^']*'|-?\d+(?:\.\d+)?|true|false|null"
_CONDITION = re.compile(rf"\s*(not\s+)?({_OPERAND})(?:\s*(==|!=|>=|<=|>|<)\s*({_OPERAND}))?\s*")


def check_condition(text: str) -> None:
    """Raise ValueError if the text is not a valid condition."""
    match = _match(text)
    for operand in (match[2], match[4]):
        if operand is not None and operand.startswith("$"):
            parse_reference(operand[2:-1])


def holds(text: str, lookup: Lookup) -> bool:
    """Return whether the condition is true; raise ValueError if its operands cannot be compared."""
    match = _match(text)
    left = _value_of(match[2], lookup)
    if match[3] is None:
        result = bool(left)
    else:
        right = _value_of(match[4], lookup)
        try:
            result = _COMPARES[match[3]](left, right)
        except TypeError:
            raise ValueError(f"condition {text!r} compares {left!r} with {right!r}") from None
    return not result if match[1] else result


def _match(text: str) -> re.Match[str]:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:120]!r} is no condition; write for example ${{steps.NAME.output.count}} > 0")
    return match


def _value_of(operand: str, lookup: Lookup) -> Any:
    if operand.startswith("$"):
        return resolve_value(operand, lookup)
    return operand[1:-1] if operand.startswith("'") else orjson.loads(operand)
