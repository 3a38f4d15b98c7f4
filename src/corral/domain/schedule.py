"""When a job runs by itself: named frequencies and cron expressions, in UTC."""

from datetime import UTC, datetime

from croniter import croniter

from corral.domain.errors import BadInput

ON_DEMAND = "on_demand"
_NAMED = {"hourly": "0 * * * *", "daily": "0 0 * * *", "weekly": "0 0 * * 0", "monthly": "0 0 1 * *"}
# Slots are counted one by one only so far; a schedule asleep for longer reports "at least this many".
MAX_COUNTED_SLOTS = 1000


def check_frequency(text: str) -> str:
    """The frequency as given, or BadInput where it is neither a known name nor five cron fields."""
    if text == ON_DEMAND or text in _NAMED:
        return text
    if len(text.split()) != 5 or not croniter.is_valid(text) or not _ever_fires(text):
        raise BadInput(
            f"frequency {text[:100]!r} is neither a known name nor a cron expression that ever fires",
            field="frequency",
            hint="use on_demand, hourly, daily, weekly, monthly, or five cron fields such as `*/15 * * * *`",
        )
    return text


def _ever_fires(expression: str) -> bool:
    try:
        croniter(expression, datetime(2024, 1, 1, tzinfo=UTC)).get_next(datetime)
    except (ValueError, KeyError):  # croniter's date errors derive from ValueError
        return False
    return True


def next_slot(frequency: str, after: datetime) -> datetime | None:
    """The first slot strictly after the moment; None for jobs that only run on demand."""
    if frequency == ON_DEMAND:
        return None
    expression = _NAMED.get(frequency, frequency)
    slot: datetime = croniter(expression, after.astimezone(UTC)).get_next(datetime)
    return slot.astimezone(UTC)


def passed_slots(frequency: str, first: datetime, now: datetime) -> tuple[datetime, int, datetime]:
    """From a due slot: the latest slot that has come, how many before it were missed, and the next one."""
    latest, missed = first, 0
    following = next_slot(frequency, first)
    assert following is not None, "only scheduled jobs have due slots"
    while following <= now and missed < MAX_COUNTED_SLOTS:
        latest, missed = following, missed + 1
        following = next_slot(frequency, latest)
        assert following is not None
    if following <= now:
        following = next_slot(frequency, now)
        assert following is not None
    return latest, missed, following
