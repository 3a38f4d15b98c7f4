"""Seasons: a year of collected data, named by one year (`2024`) or by two (`2024-25`)."""

import re
from datetime import date
from typing import NamedTuple

_SEASON = re.compile(r"(\d{4})(?:[-/_](\d{2}|\d{4}))?", re.ASCII)


class SeasonCalendar(NamedTuple):
    """The day on which a season starts."""

    month: int = 7
    day: int = 1

    def year_of(self, on: date) -> int:
        """Return the first year of the season that this day belongs to."""
        return on.year if (on.month, on.day) >= (self.month, self.day) else on.year - 1


USUAL_SEASONS = SeasonCalendar()  # of two years
CALENDAR_YEARS = SeasonCalendar(1, 1)


def read_season(text: str) -> int | None:
    """Return the first year of a season, or None if the text names no season."""
    match = _SEASON.fullmatch(text.strip())
    if match is None:
        return None
    first, second = int(match[1]), match[2]
    if second is not None and int(second) not in {first + 1, (first + 1) % 100}:
        return None
    return first


def has_two_years(text: str) -> bool:
    return not text.strip().isdigit()


def format_season(year: int, like: str) -> str:
    """Format the season of this year in the notation of another one."""
    text = like.strip()
    if not has_two_years(text):
        return f"{year:04}"
    separator, second = text[4], text[5:]
    return f"{year:04}{separator}{year + 1:04}" if len(second) == 4 else f"{year:04}{separator}{(year + 1) % 100:02}"
