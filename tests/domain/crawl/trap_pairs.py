"""Traps of two templates that lead to each other, mazes that fit no template, and finite sites that look like them."""

import random
from datetime import date, timedelta
from urllib.parse import parse_qsl

from tests.domain.crawl.trap_sites import Answer, Page

_LETTERS = "aeiounrst"


def _month_of(rest: str, query: str) -> int:
    """The number of a month, from `?month=2026-11` or `2026/11`."""
    year, _, month = dict(parse_qsl(query)).get("month", rest.replace("/", "-")).partition("-")
    return int(year) * 12 + int(month) - 1


def _invent(chance: random.Random, chars: int) -> str:
    return "".join(chance.choices(_LETTERS, k=chars))


# -- what never ends: the first answer leads to the second -----------------------------------------------


def months(rest: str, query: str) -> Page:
    """Lead to their days, in another folder."""
    month = _month_of(rest, query)
    days = [f"/day/{month // 12}-{month % 12 + 1:02}-{day:02}" for day in range(1, 29)]
    return "Calendar", [*(f"/month/{each // 12}/{each % 12 + 1:02}" for each in (month - 1, month + 1)), *days]


def empty_day(rest: str, query: str) -> Page:
    return "No events on this day.", []


def rooms(rest: str, query: str) -> Page:
    """Lead to pages of a week each, by an offset, which could be a list of items."""
    week = int(dict(parse_qsl(query)).get("offset", 0))
    slots = [f"/slot/{10 * week + number}" for number in range(10)]
    return "Free rooms", [*(f"/rooms?offset={each}" for each in (week - 1, week + 1)), *slots]


def slot(rest: str, query: str) -> Page:
    return "This room is free.", ["/rooms"]


def leave(rest: str, query: str) -> Page:
    chance = random.Random(query)
    return "You leave this site.", [f"/back/{chance.getrandbits(48):012x}"]


def back(rest: str, query: str) -> Page:
    chance = random.Random(rest)
    return "You are back.", [f"/leave?to={chance.getrandbits(48):012x}" for _ in range(2)]


def babble(rest: str, query: str) -> Page:
    """A maze with new words on every page."""
    chance = random.Random(rest)
    return " ".join(_invent(chance, 7) for _ in range(60)), [f"/tale/{_invent(chance, 9)}" for _ in range(5)]


TRAPS: dict[str, tuple[dict[str, Answer], str]] = {
    "calendar": ({"month": months, "day": empty_day}, "/month/2026/11"),
    "offsets": ({"rooms": rooms, "slot": slot}, "/rooms"),
    "each other": ({"leave": leave, "back": back}, "/leave?to=1"),
    "new words": ({"tale": babble}, "/tale/a"),
}


def folder_maze(has_new_words: bool) -> Answer:
    """Every page is in another folder."""

    def room(rest: str, query: str) -> Page:
        chance = random.Random(rest)
        text = " ".join(_invent(chance, 7) for _ in range(60)) if has_new_words else "A room with five doors."
        return text, [f"/z{_invent(chance, 8)}/{_invent(chance, 8)}" for _ in range(5)]

    return room


# -- what ends -------------------------------------------------------------------------------------------


def gallery_of_links(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """Photos by random tokens; each leads to its neighbours."""
    tokens = [f"{random.Random(number).getrandbits(40):010x}" for number in range(count)]
    numbers = {token: number for number, token in enumerate(tokens)}

    def photo(rest: str, query: str) -> Page:
        number = numbers[rest]
        return "Photo. Next. Previous.", [
            f"/i/{tokens[each]}" for each in (number - 1, number + 1) if 0 <= each < count
        ]

    return {"i": photo}, [f"/i/{tokens[0]}"], count


def photos_in_album(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """All alike, named by the pages of an album."""

    def photo(rest: str, query: str) -> Page:
        return "Photo", ["/album"]

    def album(rest: str, query: str) -> Page:
        page = int(dict(parse_qsl(query)).get("page", 0))
        here = range(20 * page, min(count, 20 * page + 20))
        more = [f"/album?page={page + 1}"] if here and here[-1] + 1 < count else []
        return "Album", [*(f"/photo/{number}" for number in here), *more]

    return {"photo": photo, "album": album}, ["/album"], count + -(-count // 20)


def _scores(seed: str) -> str:
    chance = random.Random(seed)
    return "Box score " + " ".join(f"Player {chance.randrange(40)} {chance.randrange(12)}" for _ in range(20))


def season(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """Months lead to the next and to their games, like a calendar, in one folder."""
    first, months_ = 2010 * 12, count // 29

    def games(rest: str, query: str) -> Page:
        year, month, *day = rest.split("/")
        at = _month_of(f"{year}/{month}", "")
        if day:
            return _scores(rest), [f"/games/{year}/{month}"]
        near = [each for each in (at - 1, at + 1) if first <= each < first + months_]
        found = [f"/games/{each // 12}/{each % 12 + 1:02}" for each in near]
        return "Games", [*found, *(f"/games/{rest}/{each:02}" for each in range(1, 29))]

    return {"games": games}, ["/games/2010/01"], months_ * 29


def season_by_month(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """The same with the games elsewhere."""
    first, months_ = 2019 * 12, count // 29

    def schedule(rest: str, query: str) -> Page:
        at = _month_of(rest, query)
        near = [each for each in (at - 1, at + 1) if first <= each < first + months_]
        found = [f"/schedule?month={each // 12}-{each % 12 + 1:02}" for each in near]
        return "Games", [*found, *(f"/game/{28 * (at - first) + number}" for number in range(28))]

    def game(rest: str, query: str) -> Page:
        return _scores(rest), ["/schedule?month=2019-01"]

    return {"schedule": schedule, "game": game}, ["/schedule?month=2019-01"], months_ * 29


def old_newspaper(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """From 1848 on: an index names the months, and they name their days."""
    days = [date(1848, 1, 1) + timedelta(days=number) for number in range(count)]
    months_ = sorted({f"{day:%Y/%m}" for day in days})

    def archive(rest: str, query: str) -> Page:
        if rest.count("/") == 2:
            return f"Scanned issue. {_scores(rest)}", []
        at = months_.index(rest)
        issues = [f"/archive/{day:%Y/%m/%d}" for day in days if f"{day:%Y/%m}" == rest]
        return "Issues", [*issues, *(f"/archive/{each}" for each in months_[at + 1 : at + 2])]

    return {"archive": archive}, [f"/archive/{months_[0]}"], count + len(months_)


FINITE = [gallery_of_links, photos_in_album, season, season_by_month, old_newspaper]
