"""The input and result of a conversion."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class TypeContext:
    """The facts about a page that decide how its values are read."""

    language: str | None = None  # BCP 47, such as "de-CH"
    base_url: str = ""
    now: datetime | None = None  # the base of relative dates
    currency: str | None = None  # ISO 4217, from another part of the page


@dataclass(frozen=True, slots=True)
class Converted:
    """A value of its type, with the confidence and the problems of the conversion."""

    value: Any  # a JSON value; None if the raw value cannot be converted
    confidence: float = 1.0  # 1.0 if there is only one reading, lower if another one is possible
    problems: tuple[str, ...] = ()  # snake_case codes, with a detail after a colon


def fail(problem: str) -> Converted:
    """Return the result for a raw value that is not of the type."""
    return Converted(None, 0.0, (problem,))
