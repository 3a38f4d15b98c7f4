"""Find times of day in a text: `15:30`, `3:15 pm`, `15h30`, `kl. 15.30`, `午後3時`, with their zones."""

import re
from dataclasses import dataclass
from datetime import UTC, time, timedelta, timezone

_AM = r"a\.?\s?m\.?(?![^\W\d_])|vorm\.?|午前|上午|早上|凌晨|오전|ص|π\.?μ\.?|de la mañana|da manhã|sáng|öö|पूर्वाह्न"
_PM = (
    r"p\.?\s?m\.?(?![^\W\d_])|nachm\.?|午後|下午|晚上|中午|오후|م(?![^\W\d_])|μ\.?μ\.?"
    r"|de la tarde|de la noche|da tarde|da noite|chiều|tối|अपराह्न"
)
_HALF = rf"(?:(?P<am{{0}}>{_AM})|(?P<pm{{0}}>{_PM}))"
_CLOCK = re.compile(
    rf"(?:{_HALF.format(1)}\s*)?"
    r"(?<![\d.,:/-])(?P<hour>\d{1,2})"
    r"(?:"
    r":(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d|60)(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"|\s?h(?:eures?|rs?|oras)?\s?(?P<h_minute>[0-5]\d)?(?:\s?m(?:in)?)?(?![^\W\d_])"
    r"|\s?[時时点點]\s?(?:(?P<cjk_minute>[0-5]?\d)\s?分(?:\s?(?P<cjk_second>[0-5]?\d)\s?秒)?|(?P<cjk_half>半))?"
    r"|\s?시\s?(?:(?P<ko_minute>[0-5]?\d)\s?분)?"
    r"|\.(?P<dot_minute>[0-5]\d)(?:\.(?P<dot_second>[0-5]\d))?(?=\s*(?:uhr|hrs|часов|ч\.|a\.?m|p\.?m))"
    rf"|(?=\s*(?:(?:-|–|bis|to)\s*\d{{1,2}}(?:[.:][0-5]\d)?\s*)?(?:uhr|o'clock|{_AM}|{_PM}))"
    r")(?!\d)"
    rf"(?:\s*{_HALF.format(2)})?",
    re.IGNORECASE,
)
_END_PM = re.compile(rf"\s*(?:-|–|to)\s*(?P<hour>\d{{1,2}})(?::[0-5]\d)?\s*(?:{_PM})", re.IGNORECASE)
# `kl. 15.30`: a word marks the number as a time.
_MARKED = re.compile(
    r"(?<![^\W\d_])(?:kl\.?|klo|klockan|um|at|à|alle|às|a las|om|o godz\.?|godz\.?|ora|ore|v|в|о|saat|ώρα)\s+"
    r"(?P<hour>\d{1,2})\.(?P<minute>[0-5]\d)(?![\d.])",
    re.IGNORECASE,
)
_ZONE = re.compile(
    r"\s*\(?(?:(?P<zulu>z(?![^\W\d_]))"
    r"|(?P<name>(?:utc|gmt)(?![^\W\d_]))?\s?(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d{2}))?(?![\d:])"
    r"|(?P<abbreviation>[a-z]{2,5})(?![^\W\d_]))\)?",
    re.IGNORECASE,
)
_OFFSET_TABLE = """
utc=0 gmt=0 ut=0 wet=0 west=1 bst=1 cet=1 mez=1 cest=2 mesz=2 sast=2 eet=2 eest=3 msk=3 jst=9 kst=9
aest=10 aedt=11 nzst=12 nzdt=13 hst=-10 est=-5 edt=-4 cst=-6 cdt=-5 mst=-7 mdt=-6 pst=-8 pdt=-7 akst=-9
akdt=-8
"""
_OFFSETS = {name: int(hours) for name, hours in (entry.split("=") for entry in _OFFSET_TABLE.split())}
_NOON = re.compile(r"(?<![^\W\d_])(?:noon|midday|mittags?|midi|mediodía)(?![^\W\d_])|正午", re.IGNORECASE)
_MIDNIGHT = re.compile(r"(?<![^\W\d_])(?:midnight|mitternacht|minuit|medianoche)(?![^\W\d_])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ClockReading:
    """A time of day, and its position in the text."""

    time: time
    start: int
    end: int


def find_clock(text: str, start: int = 0) -> ClockReading | None:
    """Return the first time of day in a text in lower case."""
    matches = [match for pattern in (_MARKED, _CLOCK) if (match := _search_valid(pattern, text, start))]
    if not matches:
        return _find_word(text, start)
    match = min(matches, key=lambda each: each.start())
    return _read_clock(match, text)


def _search_valid(pattern: re.Pattern[str], text: str, start: int) -> re.Match[str] | None:
    for match in pattern.finditer(text, start):
        hour = int(match["hour"])
        if hour <= 24 and (hour < 24 or not any(_numbers(match)[1:])):
            return match
    return None


def _numbers(match: re.Match[str]) -> tuple[int, int, int]:
    groups = match.groupdict()
    minute = next(
        (groups[key] for key in ("minute", "h_minute", "cjk_minute", "ko_minute", "dot_minute") if groups.get(key)), "0"
    )
    if groups.get("cjk_half"):
        minute = "30"
    second = next((groups[key] for key in ("second", "cjk_second", "dot_second") if groups.get(key)), "0")
    return int(groups["hour"]), int(minute), min(int(second), 59)


def _read_clock(match: re.Match[str], text: str) -> ClockReading | None:
    hour, minute, second = _numbers(match)
    groups = match.groupdict()
    if groups.get("pm1") or groups.get("pm2") or _is_before_pm(hour, match, text):
        hour = hour + 12 if hour < 12 else hour
    elif (groups.get("am1") or groups.get("am2")) and hour == 12:
        hour = 0
    end = match.end()
    if re.match(r"\s*uhr", text[end:]):
        end = text.index("uhr", end) + 3
    zone, end = _read_zone(text, end)
    micros = int((groups.get("fraction") or "0")[:6].ljust(6, "0"))
    return ClockReading(time(hour % 24, minute, second, micros, zone), match.start(), end)


def _is_before_pm(hour: int, match: re.Match[str], text: str) -> bool:
    """Return whether an hour is the start of a range such as `3–5 pm`, whose hours are both after noon."""
    end = None if match.groupdict().get("am2") else _END_PM.match(text, match.end())
    return end is not None and hour < int(end["hour"]) < 12


def _read_zone(text: str, end: int) -> tuple[timezone | None, int]:
    match = _ZONE.match(text, end)
    if match is None:
        return None, end
    if match["zulu"]:
        return UTC, match.end()
    if match["sign"]:
        offset = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"] or 0))
        is_valid = offset <= timedelta(hours=14)
        return (timezone(-offset if match["sign"] == "-" else offset), match.end()) if is_valid else (None, end)
    hours = _OFFSETS.get(match["abbreviation"].lower())
    return (timezone(timedelta(hours=hours)), match.end()) if hours is not None else (None, end)


def _find_word(text: str, start: int) -> ClockReading | None:
    for pattern, hour in ((_NOON, 12), (_MIDNIGHT, 0)):
        if match := pattern.search(text, start):
            return ClockReading(time(hour), match.start(), match.end())
    return None


def format_clock(value: time) -> str:
    text = value.isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text
