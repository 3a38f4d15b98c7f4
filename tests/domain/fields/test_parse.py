"""Fields as people write them: what is read, and what is refused with its place."""

from typing import Any

import pytest

from corral.domain.errors import BadInput
from corral.domain.fields.parse import parse_fields
from corral.domain.fields.spec import FieldSpec, describe_field, flatten, unflatten

WRITTEN: list[Any] = [
    "title",
    {"name": "price", "css": ".p", "type": "money", "locale": "de", "rules": {"min": 0}},
    {"name": "cards", "item": ".card", "fields": ["a", {"name": "b", "attr": "href", "const": None}]},
    {"name": "sku", "css": ".sku", "fallbacks": [{"bare": "gtin"}, {"const": False}]},
    {"name": "last", "xpath": "//i", "last": True, "optional": True},
    {"name": "all", "css": "i", "join": " "},
]


def test_what_is_written_can_be_stored_and_described() -> None:
    specs = parse_fields(WRITTEN)
    assert tuple(FieldSpec.of(spec.document()) for spec in specs) == specs
    assert parse_fields([describe_field(spec) for spec in specs]) == specs


@pytest.mark.parametrize(
    "field, place",
    [
        ("", "fields.0"),
        ({"css": "a"}, "fields.0"),
        ({"name": "f", "colour": "red"}, "fields.0.colour"),
        ({"name": "f", "item": ".c"}, "fields.0.item"),
        ({"name": "f", "item": ".c", "css": ".d", "fields": ["a"]}, "fields.0.item"),
        ({"name": "f", "item": {"css": "a", "xpath": "b"}, "fields": ["a"]}, "fields.0.item"),
        ({"name": "f", "fields": []}, "fields.0.fields"),
        ({"name": "f", "fields": ["a", "a"]}, "fields.0.fields.1"),
        ({"name": "f", "fields": ["a"], "regex": "x"}, "fields.0.regex"),
        ({"name": "f", "css": "a", "nth": 0}, "fields.0.nth"),
        ({"name": "f", "css": "a", "nth": True}, "fields.0.nth"),
        ({"name": "f", "css": "a", "first": True, "last": True}, "fields.0"),
        ({"name": "f", "css": "a", "all": True, "join": ","}, "fields.0.join"),
        ({"name": "f", "css": "a", "nth": 1, "join": ","}, "fields.0.join"),
        ({"name": "f", "css": "a", "const": "b"}, "fields.0"),
        ({"name": "f", "const": [1]}, "fields.0.const"),
        ({"name": "f", "page": "weather"}, "fields.0.page"),
        ({"name": "f", "attr": "href"}, "fields.0"),
        ({"name": "f", "css": "a", "fallbacks": [{"type": "date"}]}, "fields.0.fallbacks.0.type"),
        ({"name": "f", "css": "a", "fallbacks": [{}]}, "fields.0.fallbacks.0"),
        ({"name": "f", "css": "a", "fallbacks": [{"const": 1}] * 21}, "fields.0.fallbacks"),
        ({"name": "f", "css": "a", "required": True, "optional": True}, "fields.0"),
        ({"name": "f", "css": 7}, "fields.0.css"),
        (7, "fields.0"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(field: Any, place: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_fields([field])
    assert refused.value.field == place


def test_nesting_has_an_end() -> None:
    field: Any = "leaf"
    for _ in range(6):
        field = {"name": "f", "fields": [field]}
    with pytest.raises(BadInput, match="levels deep"):
        parse_fields([field])


def test_raw_values_are_flattened_for_a_replay_and_put_together_again() -> None:
    specs = parse_fields(
        [
            "title",
            {"name": "shop", "const": "x"},
            {"name": "seller", "css": "a", "fields": ["name"]},
            {"name": "cards", "item": "b", "fields": ["id", {"name": "shop", "const": "y"}]},
        ]
    )
    raw = {"title": "T", "shop": "x", "seller": {"name": "S"}, "cards": [{"id": "1"}, {"id": "2"}]}
    flat = flatten(specs, raw)
    assert flat == {"title": "T", "seller.name": "S", "cards.id": ["1", "2"]}
    assert unflatten(specs, flat) == {"title": "T", "seller": {"name": "S"}, "cards": [{"id": "1"}, {"id": "2"}]}


@pytest.mark.parametrize("cards", [[], [{"id": "1"}, {"id": None}]])
def test_what_a_replay_could_not_put_together_is_not_flattened(cards: list[Any]) -> None:
    specs = parse_fields([{"name": "cards", "item": "b", "fields": ["id"]}])
    assert flatten(specs, {"cards": cards}) is None


def test_lists_of_different_lengths_are_no_objects() -> None:
    specs = parse_fields([{"name": "cards", "item": "b", "fields": ["id", "name"]}])
    assert unflatten(specs, {"cards.id": ["1", "2"], "cards.name": ["a"]}) is None
