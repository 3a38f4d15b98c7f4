"""Verdicts on the data of a run."""

from typing import Any

import orjson
import pytest

from corral.domain.quality.judge import Grade, Thresholds, judge
from corral.domain.quality.profile import Profile, observe

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
