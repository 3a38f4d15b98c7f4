"""Helpers of the tests of maintenance, shared with other tests."""

from datetime import UTC, datetime

from corral.runtime.new_ids import new_id

DAY_MS = 86_400_000


def _old_run(days: int) -> str:
    """An id a run created that long ago would have."""
    millis = int(datetime.now(UTC).timestamp() * 1000) - days * DAY_MS
    text = f"{millis:012x}"
    return f"{text[:8]}-{text[8:]}{new_id()[13:]}"
