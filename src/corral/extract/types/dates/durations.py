"""The type `duration`: seconds, from ISO 8601, `1 h 20 min`, `2 Std. 15 Min.` or `1:20:05`."""

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

from corral.extract.types.characters import MAX_SHORT_CHARS, collapse_spaces, normalize_signs
from corral.extract.types.model import Converted, TypeContext, fail
from corral.extract.types.numeric.numbers import format_number, read_numbers, to_decimal
from corral.extract.types.numeric.tokens import prepare_number_text

_ISO = re.compile(
    r"(-)?p(?:(\d+(?:[.,]\d+)?)y)?(?:(\d+(?:[.,]\d+)?)m)?(?:(\d+(?:[.,]\d+)?)w)?(?:(\d+(?:[.,]\d+)?)d)?"
    r"(?:t(?:(\d+(?:[.,]\d+)?)h)?(?:(\d+(?:[.,]\d+)?)m)?(?:(\d+(?:[.,]\d+)?)s)?)?"
)
_CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,3}):([0-5]\d)(?:[.,](\d{1,6}))?")
# `1h30m`: the boundary between letters and the next number.
_JOINED = re.compile(r"(?<=[^\W\d_])(?=\d)")
_UNIT = re.compile(r"\s?([^\W\d_][^\s\d.,;:()/+|-]*)\.?|\s?(['\"′″])")
_MINUTE, _HOUR, _DAY, _WEEK = 60, 3_600, 86_400, 604_800
# A month counts as 30 days and a year as 365; the result is marked as approximate.
_MONTH, _YEAR = 30 * _DAY, 365 * _DAY
_ISO_SECONDS = (_YEAR, _MONTH, _WEEK, _DAY, _HOUR, _MINUTE, 1)
_WORDS = {
    1: (
        "s sec secs second seconds sek sekunde sekunden seconde secondes segundo segundos secondo secondi "
        "sekund sekunder sekunda sekundy секунда секунды секунд сек с saniye sn 秒 초 秒間 ثانية ثوان "
        'sekuntia ″ " seg'
        " วินาที सेकंड"
    ),
    _MINUTE: (
        "m min mins minute minutes minuten minuto minutos minuti minut minuter minutter minuta minuty "
        "minuutti minuuttia минута минуты минут мин хв хвилин dakika dk dak 分 分間 分钟 分鐘 분 دقيقة دقائق "
        "λεπτά phút perc ′ ' menit"
        " นาที मिनट λεπτά"
    ),
    _HOUR: (
        "h hr hrs hour hours std stunde stunden heure heures hora horas ora ore uur uren timme timmar tim "
        "time timer godzina godziny godzin godz hodina hodiny hodin tunti tuntia t час часа часов ч год "
        "година годин години saat sa 時間 小时 小時 시간 ساعة ساعات ώρα ώρες giờ óra jam hod"
        " ชั่วโมง ชม घंटे घंटा"
    ),
    _DAY: (
        "d day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen dagar dage dager "
        "dzień dni den dny dnů päivä päivää день дня дней дн дні gün 日 日間 天 일 يوم أيام ημέρες μέρες ngày "
        "nap hari"
        " วัน दिन"
    ),
    _WEEK: (
        "w wk wks week weeks woche wochen semaine semaines semana semanas settimana settimane weken vecka "
        "veckor uge uger uke uker tydzień tygodnie tygodni týden týdny неделя недели недель тиждень тижні "
        "hafta 週間 周 週 주 أسبوع"
    ),
    _MONTH: (
        "mo mos month months monat monate monaten mois mes meses mese mesi maand maanden månad månader måned "
        "måneder miesiąc miesiące miesięcy měsíc měsíce měsíců месяц месяца месяцев ay か月 ヶ月 个月 個月 "
        "개월 شهر أشهر"
    ),
    _YEAR: (
        "y yr yrs year years jahr jahre jahren an ans année années año años ano anos anno anni jaar år rok "
        "roky lat lata год года лет yıl 年 年間 년 سنة سنوات"
    ),
}
_SECONDS = {word: seconds for seconds, words in _WORDS.items() for word in words.split()}
# `год` is an hour in Ukrainian and a year in Russian.
_UKRAINIAN = {"год": _HOUR}


def convert_duration(raw: Any, context: TypeContext) -> Converted:
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        number = to_decimal(raw)
        return fail("not_a_duration") if number is None else _store(number, is_approximate=False)
    if not isinstance(raw, str) or len(raw) > MAX_SHORT_CHARS:
        return fail("not_a_duration" if not isinstance(raw, str) else "too_long")
    text = collapse_spaces(normalize_signs(raw).casefold())
    if text.startswith(("p", "-p")) and (match := _ISO.fullmatch(text)) and len(text.lstrip("-")) > 2:
        return _read_iso(match)
    if match := _CLOCK.fullmatch(text):
        return _read_clock(match)
    return _read_units(_JOINED.sub(" ", prepare_number_text(text)), context)


def _read_iso(match: re.Match[str]) -> Converted:
    numbers = [Decimal((group or "0").replace(",", ".")) for group in match.groups()[1:]]
    total = sum((number * seconds for number, seconds in zip(numbers, _ISO_SECONDS, strict=True)), Decimal(0))
    return _store(-total if match[1] else total, is_approximate=bool(numbers[0] or numbers[1]))


def _read_clock(match: re.Match[str]) -> Converted:
    """Read `1:20:05`; `4:33` is read as minutes and seconds, which is more usual than hours and minutes."""
    hours, minutes, seconds, fraction = match.groups()
    total = int(hours or 0) * _HOUR + Decimal(int(minutes) * _MINUTE) + Decimal(f"{seconds}.{fraction or 0}")
    if hours is not None:
        return _store(total, is_approximate=False)
    return replace(
        _store(total, is_approximate=False), confidence=0.7, problems=("ambiguous_duration:minutes_seconds",)
    )


def _read_units(text: str, context: TypeContext) -> Converted:
    readings = read_numbers(text, context)
    total, units, problems = Decimal(0), set[int](), []
    for reading in readings:
        seconds = _unit_after(text, reading.token.end, context)
        if seconds is None and _HOUR in units and _MINUTE not in units and not text[reading.token.end :].strip():
            seconds = _MINUTE  # `1h30`
        if seconds in units:
            problems.append("several_durations")  # `10 min, then 20 min`
        if seconds is None or seconds in units:
            continue
        total += reading.number * seconds
        units.add(seconds)
        if reading.high is not None:
            ends = (format_number(reading.number * seconds), format_number(reading.high * seconds))
            problems.append(f"range:{ends[0]}..{ends[1]}")
    if not units:
        return fail("no_unit" if readings else "not_a_duration")
    return _store(total, is_approximate=bool(units & {_MONTH, _YEAR}), problems=tuple(problems))


def _unit_after(text: str, end: int, context: TypeContext) -> int | None:
    match = _UNIT.match(text, end)
    if match is None:
        return None
    word = match[1] or match[2]
    if (context.language or "").startswith("uk") and word in _UKRAINIAN:
        return _UKRAINIAN[word]
    # `3小时前后`: in scripts without spaces, the match also has the text after the unit.
    return _SECONDS.get(word) or next(
        (
            _SECONDS[word[:size]]
            for size in (3, 2, 1)
            if not word.isascii() and word[:size] in _SECONDS and word[0] >= "\u3000"
        ),
        None,
    )


def _store(total: Decimal, *, is_approximate: bool, problems: tuple[str, ...] = ()) -> Converted:
    if not total.is_finite() or total.adjusted() > 15:
        return fail("out_of_range")
    if is_approximate:
        problems = (*problems, "approximate:calendar")
    seconds = int(total) if total == total.to_integral_value() else round(float(total), 6)
    return Converted(seconds, 0.5 if problems else 1.0, problems)
