"""Verdicts on the data of a run."""

from typing import Any

import orjson
import pytest

from corral.domain.quality.judge import Grade, judge
from corral.domain.quality.profile import Profile, observe
from corral.domain.quality.thresholds import Thresholds

GOOD: dict[str, Any] = {"title": "Blue chair", "price": "1.234,56 €", "date": "25.03.2026", "tags": ["a", "b", "c"]}


def history_of(record: dict[str, Any], runs: int = 8) -> Profile:
    profile = Profile()
    for _ in range(runs):
        profile.merge(observe([record], record))
    return profile


@pytest.mark.parametrize(
    "change, field, what",
    [
        ({"price": "1.234,56 $"}, "price", "currency"),
        ({"price": "1,234.56 €"}, "price", "decimal"),
        ({"price": "Preis: 1.234,56 €"}, "price", "kind"),
        ({"price": "0,00 €"}, "price", "placeholder"),
        ({"price": None}, "price", "fill_rate"),
        ({"title": "Page not found"}, "title", "error_page"),
        ({"title": "N/A"}, "title", "placeholder"),
        ({"title": "Title: Blue chair"}, "title", "label"),
        ({"title": "Blue…"}, "title", "truncated"),
        ({"date": "03.25.2026"}, "date", "date"),
        ({"tags": ["a"]}, "tags", "items"),
    ],
)
def test_a_broken_field_is_named_with_its_value_before_and_after(change: dict[str, Any], field: str, what: str) -> None:
    verdict = judge(history_of(GOOD), observe([{**GOOD, **change}], GOOD), Thresholds())
    assert [(each.field, each.what) for each in verdict.findings] == [(field, what)]
    assert verdict.findings[0].before != verdict.findings[0].after


def test_an_ambiguous_date_with_day_and_month_exchanged_is_suspect() -> None:
    before = {"date": "05.03.2026"}
    assert judge(history_of(before), observe([{"date": "03.05.2026"}], before), Thresholds()).grade is Grade.SUSPECT


@pytest.mark.parametrize("change", [{"price": "999,00 €"}, {"title": "Red chair"}, {"tags": ["a", "b"]}, {}])
def test_ordinary_changes_are_accepted(change: dict[str, Any]) -> None:
    assert judge(history_of(GOOD), observe([{**GOOD, **change}], GOOD), Thresholds()).is_ok


@pytest.mark.parametrize(
    "before, after",
    [
        ("99.00 €", "199.00 €"),
        ({"amount": 12.5, "currency": "EUR"}, {"amount": 112.5, "currency": "EUR"}),
        ("1234", "11234"),
        ("available", "not available"),
        ("available", "unavailable"),
        ("3.14.0 release candidate 2", "3.14.0"),
        ("1.9", "1.10.0"),
        (["a"], ["a", "b"]),
        (["a", "b"], ["a"]),
        (["a", "b", "c"], ["a", "b", "c", "d", "e", "f"]),
        ("Storm hits the coast", "Missing climber not found after a week"),
        ("Storm hits the coast", "Peugeot 404 turns 60"),
        ("Storm hits the coast", "Forbidden City opens at night"),
    ],
)
def test_one_page_whose_value_changes_as_sites_do_is_no_false_alarm(before: Any, after: Any) -> None:
    verdict = judge(history_of({"value": before}), observe([{"value": after}], ["value"]), Thresholds())
    assert verdict.is_ok, verdict.findings


@pytest.mark.parametrize(
    "title",
    [
        "Error 404",
        "404 – Seite",
        "404 Not Found",
        "The page you asked for was not found",
        "Not found | Shop",
        "Forbidden",
    ],
)
def test_the_title_of_an_error_page_is_recognized(title: str) -> None:
    verdict = judge(history_of({"value": "Storm hits the coast"}), observe([{"value": title}], ["value"]), Thresholds())
    assert [each.what for each in verdict.findings] == ["error_page"]


def test_little_history_judges_nothing_and_off_judges_nothing() -> None:
    broken = observe([{**GOOD, "price": None}], GOOD)
    assert judge(history_of(GOOD, 4), broken, Thresholds()).is_ok
    assert not judge(history_of(GOOD, 4), broken, Thresholds(min_history=3)).is_ok
    assert judge(history_of(GOOD), broken, Thresholds(is_on=False)).is_ok


def test_half_of_the_records_missing_is_suspect() -> None:
    profile = Profile()
    for count in (20, 22, 19, 24, 21, 18):
        profile.merge(observe([GOOD] * count, GOOD))
    assert judge(profile, observe([GOOD] * 17, GOOD), Thresholds()).is_ok
    verdict = judge(profile, observe([GOOD] * 10, GOOD), Thresholds())
    assert [(each.field, each.what) for each in verdict.findings] == [(None, "records")]
    assert judge(profile, observe([GOOD] * 2, GOOD), Thresholds()).grade is Grade.BROKEN


def test_values_inside_objects_are_judged() -> None:
    rows = [{"name": f"n{number}", "price": f"{number},50 €"} for number in range(10, 20)]
    profile = Profile()
    for _ in range(6):
        profile.merge(observe([{"rows": rows}], ["rows"]))
    swapped = [{**row, "price": row["price"].replace("€", "$")} for row in rows]
    verdict = judge(profile, observe([{"rows": swapped}], ["rows"]), Thresholds())
    assert [each.field for each in verdict.findings] == ["rows.price"]


def test_a_profile_is_bounded_and_survives_storage() -> None:
    profile = Profile()
    for number in range(200):
        record = {"title": f"title {number} " + "x" * 5000, "price": f"{number},00 €"}
        profile.merge(observe([record], record))
    stored = orjson.dumps(profile.document())
    assert len(stored) < 10_000
    assert profile.runs <= 61
    assert Profile.of(orjson.loads(stored)).document() == orjson.loads(stored)
