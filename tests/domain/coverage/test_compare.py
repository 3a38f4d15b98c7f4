"""Expected keys minus the inventory: gaps by type, completeness, absences."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.coverage.absence import Absence
from corral.domain.coverage.compare import completeness_of
from corral.domain.coverage.gap import Entry, GapType
from corral.domain.jobs.job import Priority
from tests.domain.coverage.builders import NOW, compare, list_expected, rank, source_of

_HOUR = 3600.0


def _entries(source_values: list[tuple[str | int, ...]], age_h: float = 1, size: int = 100) -> list[Entry]:
    return [Entry(values, size, NOW.timestamp() - age_h * _HOUR) for values in source_values]


def test_what_is_expected_and_not_there_is_missing() -> None:
    source = source_of()
    values = list_expected(source)
    coverage = compare(source, _entries(values[3:]))
    assert [gap.key for gap in coverage.gaps] == ["2024-25/0001", "2024-25/0002", "2024-25/0003"]
    assert {gap.type for gap in coverage.gaps} == {GapType.MISSING}
    assert coverage.periods["2024-25"].completeness == 85.0
    assert coverage.periods["2025-26"].completeness == 100.0
    assert coverage.total().completeness == 95.0


@pytest.mark.parametrize(
    "entry, found",
    [
        (Entry(("2026-27", "0001"), 0), GapType.EMPTY),
        (Entry(("2026-27", "0001"), 9), GapType.TOO_SMALL),
        (Entry(("2026-27", "0001"), 10), None),
        (Entry(("2026-27", "0001"), 99, problem="is not valid JSON"), GapType.CORRUPT),
        (Entry(("2026-27", "0001"), 99, NOW.timestamp() - 25 * _HOUR), GapType.STALE),
        (Entry(("2026-27", "0001"), 99, NOW.timestamp() - 23 * _HOUR), None),
        (Entry(("2024-25", "0001"), 99, NOW.timestamp() - 25 * _HOUR), None),  # of an old season: fresh for ever
    ],
)
def test_what_is_there_is_judged_by_the_rules(entry: Entry, found: GapType | None) -> None:
    source = source_of(rules={"min_bytes": 10, "fresh": [{"within": "24h", "when": {"season": "current"}}]})
    others = [each for each in _entries(list_expected(source)) if each.values != entry.values]
    coverage = compare(source, [*others, entry])
    assert [gap.type for gap in coverage.gaps] == ([] if found is None else [found])


def test_of_two_files_of_a_key_the_good_one_counts() -> None:
    source = source_of()
    bad = Entry(list_expected(source)[0], 0)
    good = _entries(list_expected(source))
    assert compare(source, [bad, *good]).gaps == []
    assert compare(source, [*good, bad]).gaps == []


def test_a_key_that_is_expected_twice_counts_once_and_the_unexpected_is_counted() -> None:
    source = source_of(
        expected={"keys": ["a", "b", "b", "c"]}, inventory={"folder": {"path": "d", "pattern": "{key}"}}, batch=1
    )
    coverage = compare(source, [Entry(("a",), 1), Entry(("z",), 1)])
    total = coverage.total()
    assert (total.expected, total.present, sum(total.gaps.values()), coverage.unexpected) == (3, 1, 2, 1)


@given(expected=st.sets(st.integers(0, 60), min_size=1), present=st.sets(st.integers(0, 80)))
def test_completeness_is_a_share_and_every_expected_key_is_either_there_or_a_gap(
    expected: set[int], present: set[int]
) -> None:
    source = source_of(
        expected={"keys": sorted(expected)}, inventory={"folder": {"path": "d", "pattern": "{key}"}}, batch=1
    )
    coverage = compare(source, [Entry((str(each),), 1) for each in present])
    total = coverage.total()
    assert {gap.key for gap in coverage.gaps} == {str(each) for each in expected - present}
    assert total.present == len(expected & present)
    assert coverage.unexpected == len(present - expected)
    assert 0 <= total.completeness <= 100
    assert (total.completeness == 100) == (expected <= present)


@given(present=st.integers(-5, 10**9), expected=st.integers(-5, 10**9))
def test_completeness_is_never_negative_and_never_rounded_up_to_all(present: int, expected: int) -> None:
    share = completeness_of(present, expected)
    assert 0.0 <= share <= 100.0
    assert share == 100.0 or present < expected


def test_a_confirmed_absence_is_no_gap_until_it_is_due_again() -> None:
    source = source_of(absence={"confirmations": 3, "recheck_after": "30d"})
    key, values = "2024-25/0001", list_expected(source)

    def compare_after(confirmations: int, days: float) -> tuple[list[GapType], int, float]:
        absence = Absence(key, confirmations, NOW.timestamp() - days * 24 * _HOUR)
        coverage = compare(source, _entries(values[1:]), [absence])
        return [gap.type for gap in coverage.gaps], coverage.total().absent, coverage.total().completeness

    assert compare_after(2, 1) == ([GapType.MISSING], 0, 98.3)
    assert compare_after(3, 1) == ([], 1, 100.0)
    assert compare_after(3, 31) == ([GapType.RECHECK], 0, 98.3)


def test_an_absent_key_that_appears_is_present() -> None:
    source = source_of()
    absence = Absence("2024-25/0001", 9, NOW.timestamp())
    coverage = compare(source, _entries(list_expected(source)), [absence])
    assert coverage.returned == ["2024-25/0001"]
    assert coverage.total().absent == 0


def test_default_priorities_put_recent_keys_first_and_the_backfill_last() -> None:
    dates: dict[str, Any] = {
        "expected": {"dimensions": {"date": {"days": {"from": "2022-11-16"}}}},
        "inventory": {"folder": {"path": "d", "pattern": "{date}"}},
        "batch": 1,
        "season": {"dimension": "", "starts": "10-01"},
    }
    source = source_of(**dates)
    ranked = {each.gap.key: each.priority for each in rank(source, compare(source, []))}
    assert ranked["2026-11-16"] is Priority.CRITICAL
    assert ranked["2026-11-09"] is Priority.CRITICAL
    assert ranked["2026-11-08"] is Priority.HIGH  # the current season
    assert ranked["2026-10-01"] is Priority.HIGH
    assert ranked["2026-09-30"] is Priority.MEDIUM
    assert ranked["2024-10-01"] is Priority.MEDIUM
    assert ranked["2024-09-30"] is Priority.LOW


@pytest.mark.parametrize(
    "present, priority", [(2, Priority.CRITICAL), (6, Priority.HIGH), (9, Priority.MEDIUM), (999, Priority.LOW)]
)
def test_keys_without_a_time_are_ranked_by_the_completeness_of_their_source(present: int, priority: Priority) -> None:
    total = 1000 if present == 999 else 10
    source = source_of(
        expected={"keys": list(range(total))}, inventory={"folder": {"path": "d", "pattern": "{key}"}}, batch=1
    )
    ranked = rank(source, compare(source, [Entry((str(each),), 1) for each in range(present)]))
    assert {each.priority for each in ranked} == {priority}
    if priority is Priority.CRITICAL:
        assert ranked[0].why == "source only 20% complete - major gaps"


def test_priority_rules_are_tried_in_their_order() -> None:
    rules = [
        {"when": {"gap": "corrupt"}, "is": "critical", "reason": "broken"},
        {"when": {"where": {"season": "2025-26"}}, "is": "high"},
        {"when": {"completeness_below": 10}, "is": "medium"},
    ]
    source = source_of(priority=rules)
    values = list_expected(source)
    broken = Entry(values[0], 5, problem="truncated")
    ranked = {each.gap.key: each for each in rank(source, compare(source, [broken, *_entries(values[30:])]))}
    assert ranked["2024-25/0001"].priority is Priority.CRITICAL
    assert ranked["2024-25/0001"].why == "broken"
    assert ranked["2025-26/0001"].priority is Priority.HIGH
    assert ranked["2024-25/0002"].priority is Priority.LOW


def test_weeks_and_months_have_dates() -> None:
    for unit, recent in (("weeks", "2026-W46"), ("months", "2026-11")):
        source = source_of(
            expected={"dimensions": {"when": {unit: {"from": "2026-01-01"}}}},
            inventory={"folder": {"path": "d", "pattern": "{when}"}},
            batch=1,
            priority=[{"when": {"within_days": 16}, "is": "critical"}],
        )
        ranked = {each.gap.key: each.priority for each in rank(source, compare(source, []))}
        assert ranked[recent] is Priority.CRITICAL
        assert set(ranked.values()) == {Priority.CRITICAL, Priority.LOW}
