"""Dates, times and durations in many languages."""

import re

import pytest
from babel import Locale

from corral.extract.types import TypeContext, convert
from corral.extract.types.dates.month_names import MONTH_NAMES
from tests.extract.types.tables import Row, find_unnoticed, find_wrong

THIRD_OF_JANUARY: list[tuple[object, str | None]] = [
    ("2026-01-03", None),
    ("20260103", None),
    ("2026-01-03T23:59:59-08:00", None),
    ("2026-01-03 10:00", None),
    ("2026-W01-6", None),
    ("2026-003", None),
    ("2026/1/3", None),
    ("2026. 01. 03.", "ko"),
    ("2026.01.03", "hu"),
    ("03.01.2026", None),
    ("3. 1. 2026", "cs"),
    ("03.01.26", "de"),
    ("03/01/2026", "fr"),
    ("03/01/2026", "en-GB"),
    ("01/03/2026", "en-US"),
    ("1/3/26", "en-US"),
    ("3-1-2026", "nl"),
    ("03-Jan-2026", None),
    ("3 Jan 26", None),
    ("Jan 3, 2026", None),
    ("January 3rd, 2026", "en"),
    ("Saturday, 3 January 2026", "en"),
    ("the 3rd of January 2026", "en"),
    ("Sat, 03 Jan 2026 12:00:00 GMT", None),
    ("Posted on Jan 3, 2026 by Bob", "en"),
    ("3. Januar 2026", "de"),
    ("Samstag, 3. Jänner 2026", "de-AT"),
    ("3. Jan. 2026", "de"),
    ("3 janvier 2026", "fr"),
    ("3 janvier 2026", None),
    ("sam. 3 janv. 2026", "fr"),
    ("3 de enero de 2026", "es"),
    ("3 de janeiro de 2026", "pt"),
    ("3 gennaio 2026", "it"),
    ("3 januari 2026", "nl"),
    ("den 3 januari 2026", "sv"),
    ("3. januar 2026", "nb"),
    ("3. tammikuuta 2026", "fi"),
    ("3 stycznia 2026 r.", "pl"),
    ("3. ledna 2026", "cs"),
    ("3. siječnja 2026.", "hr"),
    ("3 января 2026 г.", "ru"),
    ("3 січня 2026 р.", "uk"),
    ("2026. január 3.", "hu"),
    ("2026 m. sausio 3 d.", "lt"),
    ("3 ianuarie 2026", "ro"),
    ("3 Ιανουαρίου 2026", "el"),
    ("3 Ocak 2026", "tr"),
    ("٣ يناير ٢٠٢٦", "ar"),
    ("3 בינואר 2026", "he"),
    ("3 जनवरी 2026", "hi"),
    ("3 มกราคม 2569", "th"),
    ("3 Januari 2026", "id"),
    ("ngày 3 tháng 1 năm 2026", "vi"),
    ("2026年1月3日", "ja"),
    ("2026年1月3日(土)", "ja"),
    ("令和8年1月3日", "ja"),
    ("民國115年1月3日", "zh-TW"),
    ("2026년 1월 3일", "ko"),
    ("26. 1. 3.", "ko"),
    ("3. januarja 2026", "sl"),
    ("3. jaanuaril 2026", "et"),
    ("2026. gada 3. janvāris", "lv"),
    ("2026ko urtarrilaren 3a", "eu"),
    ("3 يناير/كانون 2026", "ar"),
    ("วันเสาร์ที่ 3 มกราคม พ.ศ. 2569", "th"),
    ("Sat Jan 03 2026 14:00:00 GMT+0200 (EET)", "en"),
    ("/Date(1767441600000)/", None),
    (1767441600, None),
    (1767441600000, None),
    ("1767441600", None),
]
OTHER_DATES: list[Row] = [
    ("1er août 2026", "fr", "2026-08-01"),
    ("mar. 3 mars 2026", "fr", "2026-03-03"),
    ("2 listopada 2026", "pl", "2026-11-02"),
    ("2. listopada 2026", "hr", "2026-10-02"),
    ("12/25/2026", None, "2026-12-25"),
    ("25/12/2026", "en-US", "2026-12-25"),
    ("3 Jan 99", None, "1999-01-03"),
    ("yesterday", "en", "2026-11-15"),
    ("gestern", "de", "2026-11-15"),
    ("hier", "fr", "2026-11-15"),
    ("3 days ago", "en", "2026-11-13"),
    ("hace 2 días", "es", "2026-11-14"),
    ("3日前", "ja", "2026-11-13"),
    ("3 дня назад", "ru", "2026-11-13"),
    ("31.02.2026", None, None),
    ("99/99/2026", None, None),
    ("soon", "en", None),
    ("1.5", None, None),
    ("1404/10/13", "fa", None),
    ("x" * 201, None, None),
    ("", None, None),
    ([], None, []),
]
DATETIMES: list[Row] = [
    ("2026-01-03T10:00:00Z", None, "2026-01-03T10:00:00Z"),
    ("2026-01-03T10:00:00+02:00", None, "2026-01-03T10:00:00+02:00"),
    ("2026-01-03 10:00", None, "2026-01-03T10:00:00"),
    ("Sat, 03 Jan 2026 12:00:00 +0100", None, "2026-01-03T12:00:00+01:00"),
    ("Sat, 03 Jan 2026 12:00:00 EST", None, "2026-01-03T12:00:00-05:00"),
    ("Jan 3, 2026 at 3:15 pm", "en", "2026-01-03T15:15:00"),
    ("Le 3 janvier 2026 à 15h30", "fr", "2026-01-03T15:30:00"),
    ("3.1.2026 kl. 15.30", "da", "2026-01-03T15:30:00"),
    ("3. Januar 2026, 15.30 Uhr", "de", "2026-01-03T15:30:00"),
    ("3 января 2026 г., 15:30", "ru", "2026-01-03T15:30:00"),
    ("2026年1月3日 午後3時15分", "ja", "2026-01-03T15:15:00"),
    ("2026년 1월 3일 오후 3시 15분", "ko", "2026-01-03T15:15:00"),
    ("Updated: 2026-01-03 15:30 CET", None, "2026-01-03T15:30:00+01:00"),
    (1767441600, None, "2026-01-03T12:00:00Z"),
    ("vor 3 Stunden", "de", "2026-11-16T09:00:00Z"),
    ("il y a 3 heures", "fr", "2026-11-16T09:00:00Z"),
    ("gestern um 15:30", "de", "2026-11-15T15:30:00Z"),
    ("10:00", None, None),
]
TIMES: list[Row] = [
    ("15:30", None, "15:30:00"),
    ("15:30:05", None, "15:30:05"),
    ("15:30:05Z", None, "15:30:05Z"),
    ("15:30+02:00", None, "15:30:00+02:00"),
    ("3:15 pm", None, "15:15:00"),
    ("3 p.m.", None, "15:00:00"),
    ("12 am", None, "00:00:00"),
    ("12:30 PM", None, "12:30:00"),
    ("15h30", "fr", "15:30:00"),
    ("15 h", "fr", "15:00:00"),
    ("kl. 15.30", "nb", "15:30:00"),
    ("klo 15.30", "fi", "15:30:00"),
    ("15.30 Uhr", "de", "15:30:00"),
    ("15 Uhr", "de", "15:00:00"),
    ("15.30", "it", "15:30:00"),
    ("午後3時", "ja", "15:00:00"),
    ("午前9時半", "ja", "09:30:00"),
    ("下午3点15分", "zh", "15:15:00"),
    ("오후 3시 15분", "ko", "15:15:00"),
    ("١٥:٣٠", "ar", "15:30:00"),
    ("noon", "en", "12:00:00"),
    ("2026-01-03T10:00:00Z", None, "10:00:00Z"),
    ("3 PM EST", None, "15:00:00-05:00"),
    ("25:00", None, None),
    ("later", None, None),
]
DURATIONS: list[Row] = [
    ("PT1H20M", None, 4800),
    ("P1DT12H", None, 129600),
    ("PT0.5S", None, 0.5),
    ("1 h 20 min", None, 4800),
    ("1h30", "fr", 5400),
    ("1h30m", None, 5400),
    ("1 hour and 30 minutes", "en", 5400),
    ("1½ hours", "en", 5400),
    ("1,5 Stunden", "de", 5400),
    ("2 Std. 15 Min.", "de", 8100),
    ("2 heures 15", "fr", 8100),
    ("2 ore e 30 minuti", "it", 9000),
    ("1 час 20 мин", "ru", 4800),
    ("2 год 10 хв", "uk", 7800),
    ("1時間20分", "ja", 4800),
    ("3小时", "zh", 10800),
    ("2시간 30분", "ko", 9000),
    ("45 Min. Zubereitung", "de", 2700),
    ("45'", None, 2700),
    ("30 นาที", "th", 1800),
    ("30 sek", "de", 30),
    ("2 jours", "fr", 172800),
    ("6 weeks", "en", 3628800),
    ("1:20:05", None, 4805),
    (90, None, 90),
    ("90", None, None),
    ("long", None, None),
]


def test_dates() -> None:
    assert find_wrong("date", [(raw, language, "2026-01-03") for raw, language in THIRD_OF_JANUARY]) == []
    assert find_wrong("date", OTHER_DATES) == []


def test_times_with_and_without_a_date() -> None:
    assert find_wrong("datetime", DATETIMES) == []
    assert find_wrong("time", TIMES) == []


def test_durations_are_seconds() -> None:
    assert find_wrong("duration", DURATIONS) == []


def test_what_a_date_leaves_open_is_named() -> None:
    rows = [
        ("01/02/2026", None, "ambiguous_date:day_first"),
        ("01/02/2026", "en", "ambiguous_date:month_first"),
        ("January 2026", "en", "partial_date:no_day"),
        ("2026", None, "partial_date:no_month"),
        ("3 Jan", "en", "partial_date:no_year"),
        ("KW 12/2026", "de", "partial_date:no_day"),
        ("3–5 May 2026", "en", "range:2026-05-03..2026-05-05"),
        ("3-5 May 2026", "en", "range:2026-05-03..2026-05-05"),
        ("May 3–5, 2026", "en", "range:2026-05-03..2026-05-05"),
        ("3. bis 5. Mai 2026", "de", "range:2026-05-03..2026-05-05"),
        ("03.05.–05.05.2026", "de", "range:2026-05-03..2026-05-05"),
        ("30 April – 2 May 2026", "en", "range:2026-04-30..2026-05-02"),
        ("28 Dec 2025 – 2 Jan 2026", "en", "range:2025-12-28..2026-01-02"),
        ("2026-05-03 – 2026-05-05", None, "range:2026-05-03..2026-05-05"),
        ("2 months ago", "en", "approximate:month"),
        ("1404/10/13", "fa", "other_calendar"),
    ]
    assert find_unnoticed("date", rows) == []
    rows = [("2026-01-03", None, "no_time"), ("3 Jan 2026 14:00 Europe/Berlin", "en", "unread_zone:europe/berlin")]
    assert find_unnoticed("datetime", rows) == []
    times = [
        ("3 pm to 5 pm", "en", "range:15:00:00..17:00:00"),
        ("9 bis 17 Uhr", "de", "range:09:00:00..17:00:00"),
        ("3–5 pm", "en", "range:15:00:00..17:00:00"),
    ]
    assert find_unnoticed("time", times) == []
    durations = [
        ("10–15 min", None, "range:600..900"),
        ("2 years", "en", "approximate:calendar"),
        ("10 min, then 20 min", "en", "several_durations"),
        ("4:33", None, "ambiguous_duration:minutes_seconds"),
    ]
    assert find_unnoticed("duration", durations) == []


def test_a_relative_date_needs_the_time_of_the_page() -> None:
    assert convert("yesterday", "date", TypeContext(language="en")).value is None


@pytest.mark.parametrize("language", ["de", "pl", "el", "hi"])
def test_the_table_of_months_is_that_of_cldr(language: str) -> None:
    table = [set(names.split()) for names in MONTH_NAMES[language].split("|")]
    months = Locale.parse(language).months["format"]["wide"]
    assert [re.sub(r"\.$", "", months[number].casefold()) in table[number - 1] for number in range(1, 13)] == [
        True
    ] * 12
