import itertools
import time
from datetime import UTC, datetime, timedelta

import pytest
from croniter import croniter
from hypothesis import given, settings
from hypothesis import strategies as st

from corral.domain.errors import BadInput
from corral.domain.jobs.schedule import ON_DEMAND, check_frequency, find_due_slots, next_slot
from tests.slack import SLACK

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
CRONS = st.sampled_from(
    [
        *("hourly", "daily", "weekly", "monthly", "*/15 * * * *", "30 2 * * 1-5", "0 0 29 2 *"),
        *("*/7 8-18/2 * jan,JUL mon-fri", "0 0 */2 * 1", "15,45 6 1-7 * 5-7", "0 12 31 * sun", "5 * 13 * 0-7"),
    ]
)


@pytest.mark.parametrize(
    "text",
    [
        *(ON_DEMAND, "hourly", "daily", "weekly", "monthly", "*/15 * * * *", "0 0 29 2 *"),
        *("0 0 1,15 JAN-mar Mon", "10-50/20 0-23 * * 7", "0 0 * * 0-7", "1,1 * * * *"),
    ],
)
def test_names_and_cron_fields_are_taken(text: str) -> None:
    assert check_frequency(text) == text


EXTRAS = [
    *("R * * * *", "H * * * *", "h(1-5) * * * *", "0 0 L * *", "0 0 15W * *", "0 0 * * 1#2", "0 0 * * L5", "? * * * *"),
    *("50-10 * * * *", "0 0 * * fri-mon", "٣ * * * *", "*/٣ * * * *", "5/15 * * * *", "*/0 * * * *", "*/60 * * * *"),
    *("0 0 * * * 30", "0 0 * * * 30 2026", "* *  * * *", "*\t* * * *", " * * * * *", "* * * * *\n", ", * * * *"),
    *("1- * * * *", "-1 * * * *", "0 24 * * *", "0 0 0 * *", "0 0 * 13 *", "0 0 * * 8", "0 0 * mon *", "0 0 * * jan"),
]


@pytest.mark.parametrize("text", EXTRAS)
def test_what_only_some_programs_understand_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as refusal:
        check_frequency(text)
    assert refusal.value.field == "frequency"


@pytest.mark.parametrize(
    "text",
    ["", "sometimes", "* * * *", "* * * * * *", "61 * * * *", "0 0 30 2 *", "0 0 31 4 *", "a b c d e", "@daily"],
)
def test_what_never_fires_is_refused_with_the_field_named(text: str) -> None:
    with pytest.raises(BadInput) as refusal:
        check_frequency(text)
    assert refusal.value.field == "frequency"
    assert refusal.value.hint


def test_a_long_text_is_not_repeated_in_full() -> None:
    with pytest.raises(BadInput) as refusal:
        check_frequency("x" * 100_000)
    assert len(refusal.value.message) < 300


def test_on_demand_has_no_slots() -> None:
    assert next_slot(ON_DEMAND, NOW) is None


@pytest.mark.parametrize(
    "frequency, expected",
    [
        ("hourly", datetime(2026, 3, 4, 6, tzinfo=UTC)),
        ("daily", datetime(2026, 3, 5, tzinfo=UTC)),
        ("weekly", datetime(2026, 3, 8, tzinfo=UTC)),
        ("monthly", datetime(2026, 4, 1, tzinfo=UTC)),
        ("*/15 * * * *", datetime(2026, 3, 4, 5, 15, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2028, 2, 29, tzinfo=UTC)),
    ],
)
def test_the_next_slot_is_the_first_after_now(frequency: str, expected: datetime) -> None:
    assert next_slot(frequency, NOW) == expected


@given(CRONS, MOMENTS)
def test_the_next_slot_lies_strictly_ahead(frequency: str, moment: datetime) -> None:
    slot = next_slot(frequency, moment)
    assert slot is not None
    assert slot > moment
    after = next_slot(frequency, slot)
    assert after is not None
    assert after > slot


def test_a_moment_in_another_zone_is_the_same_moment() -> None:
    from datetime import timezone

    elsewhere = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert next_slot("daily", elsewhere) == next_slot("daily", NOW)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 300), st.integers(0, 3599))
def test_missed_slots_become_one_that_says_how_many(missed: int, seconds: int) -> None:
    first = datetime(2026, 1, 1, tzinfo=UTC)
    now = first + timedelta(hours=missed, seconds=seconds)
    assert find_due_slots("hourly", first, now) == (
        first + timedelta(hours=missed),
        missed,
        first + timedelta(hours=missed + 1),
    )


def test_a_schedule_asleep_for_a_year_wakes_up_once_at_once_and_knows_how_much_it_missed() -> None:
    this_minute = NOW.replace(second=0)
    began = time.monotonic()
    found = find_due_slots("* * * * *", this_minute - timedelta(days=365), NOW)
    assert found == (this_minute, 365 * 24 * 60, this_minute + timedelta(minutes=1))
    assert time.monotonic() - began < 1 * SLACK


def test_a_schedule_asleep_since_the_clock_was_wrong_is_counted_too() -> None:
    first = datetime(1970, 1, 1, tzinfo=UTC)
    _, missed, _ = find_due_slots("hourly", first, NOW)
    assert missed == (NOW - first) // timedelta(hours=1)


@settings(max_examples=60, deadline=None)
@given(CRONS, MOMENTS, st.integers(0, 60 * 24 * 60))
def test_slots_are_counted_as_if_one_by_one(frequency: str, moment: datetime, minutes: int) -> None:
    first = next_slot(frequency, moment)
    assert first is not None
    now = first + timedelta(minutes=minutes)
    slots = croniter(expression_of(frequency), first)
    passed = list(itertools.takewhile(lambda slot: slot <= now, iter(lambda: slots.get_next(datetime), None)))
    latest, missed, _ = find_due_slots(frequency, first, now)
    assert (latest, missed) == (passed[-1] if passed else first, len(passed))


def expression_of(frequency: str) -> str:
    names = {"hourly": "0 * * * *", "daily": "0 0 * * *", "weekly": "0 0 * * 0", "monthly": "0 0 1 * *"}
    return names.get(frequency, frequency)


@settings(max_examples=40, deadline=None)
@given(CRONS, MOMENTS, st.integers(0, 5))
def test_whatever_was_missed_the_next_slot_lies_ahead(frequency: str, moment: datetime, days: int) -> None:
    first = next_slot(frequency, moment)
    assert first is not None
    now = first + timedelta(days=days)
    latest, missed, following = find_due_slots(frequency, first, now)
    assert first <= latest <= now < following
    assert missed >= 0
