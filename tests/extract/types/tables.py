"""Rows of a table are checked in one test: a row is a raw value, its language, the value and the problems."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from corral.extract.types import Converted, TypeContext, convert

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
BASE = "https://shop.example/a/b"
Row = tuple[Any, str | None, Any]


def convert_raw(raw: Any, type_name: str, language: str | None = None) -> Converted:
    return convert(raw, type_name, TypeContext(language=language, base_url=BASE, now=NOW))


def find_wrong(type_name: str, rows: Sequence[Row]) -> list[str]:
    """Rows whose value is another one, as lines to read."""
    wrong = []
    for raw, language, expected in rows:
        converted = convert_raw(raw, type_name, language)
        if converted.value != expected or type(converted.value) is not type(expected):
            wrong.append(f"{raw!r} ({language}): {converted} instead of {expected!r}")
    return wrong


def find_unnoticed(type_name: str, rows: Sequence[tuple[Any, str | None, str]]) -> list[str]:
    """Rows without the expected problem, or with full confidence in spite of it."""
    wrong = []
    for raw, language, problem in rows:
        converted = convert_raw(raw, type_name, language)
        if problem not in converted.problems or (converted.value is not None and converted.confidence > 0.9):
            wrong.append(f"{raw!r} ({language}): {converted} without {problem}")
    return wrong
