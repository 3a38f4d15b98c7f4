"""The types of fields: what a text becomes, and which values count as not found."""

from typing import Any

import pytest

from corral.domain.jobs import field_types
from corral.domain.jobs.job import FieldSpec


@pytest.mark.parametrize(
    "kind, text, value",
    [
        ("text", 12, "12"),
        ("number", "1.234,50 €", 1234.5),
        ("number", "1,234.50", 1234.5),
        ("integer", "48 pages", 48),
        ("boolean", "In stock", True),
        ("boolean", "sold out", False),
        ("url", "https://shop.example/1", "https://shop.example/1"),
        ("list", "one", ["one"]),
        ("number", ["1", "2"], [1, 2]),
    ],
)
def test_a_value_is_converted_to_the_type_of_its_field(kind: str, text: Any, value: Any) -> None:
    assert convert(kind, text) == ({"field": value}, ())


@pytest.mark.parametrize(
    "kind, text", [("number", "free"), ("integer", "1.5"), ("boolean", "maybe"), ("url", "no url")]
)
def test_a_value_that_cannot_be_converted_counts_as_not_found(kind: str, text: str) -> None:
    assert convert(kind, text) == ({"field": None}, ("field",))


def convert(kind: str, value: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    return field_types.with_types({"field": value}, [FieldSpec("field", type=kind)])
