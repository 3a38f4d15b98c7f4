"""Rules of fields: what they accept, what they report, and which documents are refused."""

from typing import Any

import pytest

from corral.domain.errors import BadInput
from corral.domain.fields.rules import FieldRules, check_rules, parse_rules

CHECKS: list[tuple[Any, dict[str, Any], tuple[str, ...]]] = [
    (None, {"required": True}, ("missing",)),
    ("", {"required": True}, ("missing",)),
    ([], {"required": True}, ("missing",)),
    (0, {"required": True}, ()),
    (False, {"required": True}, ()),
    (None, {"min": 5, "min_length": 3, "pattern": "x"}, ()),
    ("abc", {"min_length": 5}, ("too_short:3<5",)),
    ("abcdef", {"max_length": 5}, ("too_long:6>5",)),
    ("abcde", {"min_length": 5, "max_length": 5}, ()),
    (12345, {"min_length": 6}, ("too_short:5<6",)),
    (3, {"min": 5}, ("out_of_range:3<5",)),
    (9.5, {"max": 5}, ("out_of_range:9.5>5",)),
    (5, {"min": 5, "max": 5}, ()),
    ("1234567890.123456789", {"max": 5}, ("out_of_range:1234567890.123456789>5",)),
    ({"amount": 3, "currency": "EUR"}, {"min": 5}, ("out_of_range:3<5",)),
    ({"value": 4.5, "best": 5}, {"max": 5}, ()),
    ("2026-01-03", {"min": "2026-02-01"}, ("out_of_range:2026-01-03<2026-02-01",)),
    ("2026-01-03T10:00:00+02:00", {"max": "2026-01-03T09:00:00Z"}, ()),
    ("2026-01-03T10:00:00Z", {"min": "2026-01-03"}, ()),
    ("15:30:00", {"max": "12:00"}, ("out_of_range:15:30:00>12:00",)),
    ("text", {"min": 5}, ("rule_does_not_apply:min",)),
    ({"given": "A"}, {"pattern": "A"}, ("rule_does_not_apply:pattern",)),
    ("b", {"allowed": ["a", "c"]}, ("not_allowed:b",)),
    ("a", {"allowed": ["a", "c"]}, ()),
    (True, {"allowed": [1]}, ("not_allowed:True",)),
    ("AB-12", {"pattern": r"^[A-Z]+-\d+$"}, ()),
    ("ab", {"pattern": r"\d"}, ("no_match",)),
    (["abc", "abcdef", "abcdefg"], {"max_length": 5}, ("too_long:6>5", "too_long:7>5")),
    (["a", "b", "b"], {"allowed": ["a"]}, ("not_allowed:b",)),
]
REFUSED: list[tuple[Any, str]] = [
    ([], "rules"),
    ({"minimum": 5}, "rules.minimum"),
    ({"required": "yes"}, "rules.required"),
    ({"min_length": -1}, "rules.min_length"),
    ({"max_length": 2.5}, "rules.max_length"),
    ({"max_length": True}, "rules.max_length"),
    ({"min_length": 5, "max_length": 3}, "rules.min_length"),
    ({"min": 5, "max": 3}, "rules.min"),
    ({"min": "2026-02-01", "max": "2026-01-01"}, "rules.min"),
    ({"min": 5, "max": "2026-01-01"}, "rules.min"),
    ({"min": "five"}, "rules.min"),
    ({"min": float("nan")}, "rules.min"),
    ({"allowed": []}, "rules.allowed"),
    ({"allowed": "a"}, "rules.allowed"),
    ({"allowed": [{}]}, "rules.allowed"),
    ({"pattern": "("}, "rules.pattern"),
    ({"pattern": ""}, "rules.pattern"),
    ({"pattern": 5}, "rules.pattern"),
    ({"pattern": "x" * 1001}, "rules.pattern"),
]


def test_each_rule_reports_what_breaks_it() -> None:
    wrong = []
    for value, document, problems in CHECKS:
        rules = parse_rules(document)
        assert rules is not None
        if check_rules(value, rules) != problems:
            wrong.append(f"{value!r} {document}: {check_rules(value, rules)}")
    assert wrong == []


@pytest.mark.parametrize("document, field", REFUSED, ids=str)
def test_nonsense_is_refused_by_name(document: Any, field: str) -> None:
    with pytest.raises(BadInput) as refusal:
        parse_rules(document)
    assert refusal.value.field == field


def test_rules_are_stored_as_they_were_written() -> None:
    document = {"required": True, "min": 0, "max": 9.5, "allowed": ["a", 1], "pattern": "x", "max_length": 0}
    rules = parse_rules(document)
    assert rules is not None
    assert rules.document() == document
    assert FieldRules(**rules.document()) == rules
    assert parse_rules(None) is None
    assert parse_rules({}) is None
    assert FieldRules().document() == {}
