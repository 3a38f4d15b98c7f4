from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corral.domain.errors import BadInput
from corral.domain.schedule import MAX_COUNTED_SLOTS, ON_DEMAND, check_frequency, next_slot, passed_slots

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
CRONS = st.sampled_from(["hourly", "daily", "weekly", "monthly", "*/15 * * * *", "30 2 * * 1-5", "0 0 29 2 *"])


@pytest.mark.parametrize("text", [ON_DEMAND, "hourly", "daily", "weekly", "monthly", "*/15 * * * *", "0 0 29 2 *"])
def test_names_and_cron_fields_are_taken(text: str) -> None:
    assert check_frequency(text) == text


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
    assert passed_slots("hourly", first, now) == (
        first + timedelta(hours=missed),
        missed,
        first + timedelta(hours=missed + 1),
    )


def test_a_schedule_asleep_for_years_wakes_up_once_and_at_once() -> None:
    first = datetime(2010, 1, 1, tzinfo=UTC)
    latest, missed, following = passed_slots("*/5 * * * *", first, NOW)
    assert missed == MAX_COUNTED_SLOTS
    assert latest <= NOW < following
    assert following == next_slot("*/5 * * * *", NOW)


@settings(max_examples=40, deadline=None)
@given(CRONS, MOMENTS, st.integers(0, 5))
def test_whatever_was_missed_the_next_slot_lies_ahead(frequency: str, moment: datetime, days: int) -> None:
    first = next_slot(frequency, moment)
    assert first is not None
    now = first + timedelta(days=days)
    latest, missed, following = passed_slots(frequency, first, now)
    assert first <= latest <= now < following
    assert missed >= 0
