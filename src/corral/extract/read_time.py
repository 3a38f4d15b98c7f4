"""The time at which a page is read. The caller passes it in: extraction has no clock of its own."""

from datetime import date, datetime
from typing import NamedTuple


class ReadTime(NamedTuple):
    now: datetime  # aware, in UTC
    monotonic_s: float

    @property
    def today(self) -> date:
        return self.now.date()
