"""The header `Retry-After`."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_s(value: str | None, now: datetime) -> float | None:
    """Return the seconds of a Retry-After header, between one second and one hour; None if it is unusable."""
    seconds = parse_retry_after(value, now)
    return None if seconds is None else max(1.0, min(3600.0, seconds))


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Return the value of the header without any limit."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        # No real value has more than twelve digits; int() of a megabyte of digits is an attack.
        return float(int(text[:12]))
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return (when - now).total_seconds()
