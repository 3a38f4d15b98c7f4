"""Finite sites whose pages are alike, and sites that never end."""

import calendar
import random
from collections.abc import Callable
from datetime import date, timedelta

_WORDS = ["".join(random.Random(number).choices("abcdefghijklmnopqrstuvwxyz", k=7)) for number in range(4_000)]

Page = tuple[str, list[str]]
Answer = Callable[[str, str], Page]  # of the path behind the first folder, and the query


# -- finite sites whose pages are alike ------------------------------------------------------------------


def _chain(number: int, count: int, name: str) -> list[str]:
    return [f"{name}{each}" for each in (number - 1, number + 1) if 0 <= each < count]


def variants(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """One shirt in all its colours and sizes; each page leads to some of the others."""

    def shirt(rest: str, query: str) -> Page:
        number = int(query.partition("=")[2] or 0)
        chance = random.Random(number)
        links = [*range(number * 2, number * 2 + 2), *(chance.randrange(count) for _ in range(4))]
        others = [f"/shirt?variant={each % count}" for each in links]
        return "The shirt of this year. Add to basket. Free returns within a month.", others

    return {"shirt": shirt}, ["/shirt?variant=1"], count


def variants_by_two_parameters(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """Told apart by two parameters, and named by a list."""

    def shirt(rest: str, query: str) -> Page:
        style = dict(part.split("=") for part in query.split("&"))["style"]
        return "The shirt of this year. Add to basket.", [f"/shirt?style={style}&size={n}" for n in range(10)]

    def styles(rest: str, query: str) -> Page:
        page = int(query.partition("=")[2] or 0)
        here = range(page * 10, min(count // 10, page * 10 + 10))
        more = [f"/styles?page={page + 1}"] if here and here[-1] + 1 < count // 10 else []
        return "All styles", [*(f"/shirt?style={n}&size=0" for n in here), *more]

    return {"shirt": shirt, "styles": styles}, ["/styles"], count + (count // 10 + 9) // 10


def tables(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """Box scores, each with the game before and after it."""

    def score(rest: str, query: str) -> Page:
        number = int(rest)
        chance = random.Random(number)
        rows = " ".join(
            f"Player {chance.randrange(40)} {chance.randrange(12)} {chance.randrange(9)}" for _ in range(30)
        )
        return f"Box score {rows}", _chain(number, count, "/score/")

    return {"score": score}, ["/score/0"], count


def tables_by_day(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """The same by their day, all named by the pages of their months."""
    days = [date(2019, 1, 1) + timedelta(days=number) for number in range(count)]
    months = sorted({day.replace(day=1) for day in days})

    def score(rest: str, query: str) -> Page:
        chance = random.Random(rest)
        rows = " ".join(
            f"Player {chance.randrange(40)} {chance.randrange(12)} {chance.randrange(9)}" for _ in range(30)
        )
        day = date.fromisoformat(rest)
        return f"Box score {rows}", [
            f"/score/{day + timedelta(days=step)}" for step in (-1, 1) if day + timedelta(days=step) in days
        ]

    def season(rest: str, query: str) -> Page:
        month = date.fromisoformat(f"{rest}-01")
        return "All games", [f"/score/{day}" for day in days if day.replace(day=1) == month]

    return {"score": score, "season": season}, [f"/season/{month:%Y-%m}" for month in months], count + len(months)


def gallery(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """Nearly empty, one after the other."""

    def photo(rest: str, query: str) -> Page:
        return "Photo Next Previous", _chain(int(rest), count, "/photo/")

    return {"photo": photo}, ["/photo/0"], count


def gallery_in_list(count: int) -> tuple[dict[str, Answer], list[str], int]:
    def photo(rest: str, query: str) -> Page:
        return "Photo", ["/album"]

    def album(rest: str, query: str) -> Page:
        page = int(query.partition("=")[2] or 0)
        here = range(page * 20, min(count, page * 20 + 20))
        more = [f"/album?page={page + 1}"] if here and here[-1] + 1 < count else []
        return "Album", [*(f"/photo?id={n}" for n in here), *more]

    return {"photo": photo, "album": album}, ["/album"], count + (count + 19) // 20


def dictionary(count: int) -> tuple[dict[str, Answer], list[str], int]:
    def word(rest: str, query: str) -> Page:
        at = _WORDS.index(rest)
        return f"{rest}: a word. Noun, plural {rest}s.", [f"/word/{_WORDS[(at + step) % count]}" for step in (1, 2, 3)]

    return {"word": word}, [f"/word/{_WORDS[0]}"], count


def docs_of_crates(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """Crates with modules with structs: every struct says the same, and links to all of its module."""

    def docs(rest: str, query: str) -> Page:
        crate, _, name = rest.partition("/")
        names = [f"/docs/{crate}/struct.{_WORDS[n]}.html" for n in range(60)]
        if name == "index":
            return f"Crate {crate}", names
        said = "Struct. Implementations. Trait Implementations. Auto Trait Implementations. Blanket Implementations."
        chance = random.Random(rest)
        others = [f"/docs/{_WORDS[chance.randrange(count // 61)]}/index" for _ in range(3)]
        return said, [*names[:30], *others]

    return {"docs": docs}, [f"/docs/{_WORDS[n]}/index" for n in range(count // 61)], count // 61 * 61


def manual_in_languages(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """Every page in eight languages, most of them not translated yet."""

    def manual(rest: str, query: str) -> Page:
        language, _, name = rest.partition("/")
        number = _WORDS.index(name)
        text = " ".join(_WORDS[number % 50 : number % 50 + 80])
        others = [f"/manual/{each}/{name}" for each in ("en", "de", "fr", "ja", "ko", "tr", "es", "zh")]
        following = f"/manual/{language}/{_WORDS[(number + 1) % (count // 8)]}"
        every = [f"/manual/{language}/{_WORDS[each]}" for each in range(count // 8)] if number == 0 else []
        return text, [*others, following, *every]

    return {"manual": manual}, [f"/manual/en/{_WORDS[0]}"], count // 8 * 8


def _shuffle_words(seed: str) -> str:
    return " ".join(random.Random(seed).sample(_WORDS[:40], 20))


def articles(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """From the words of one vocabulary, named by the pages of a list."""

    def article(rest: str, query: str) -> Page:
        return _shuffle_words(rest), ["/list"]

    def listing(rest: str, query: str) -> Page:
        page = int(query.partition("=")[2] or 0)
        here = range(page * 10, min(count, page * 10 + 10))
        more = [f"/list?page={page + 1}"] if here[-1] + 1 < count else []
        return "All articles", [*(f"/article/{n}" for n in here), *more]

    return {"article": article, "list": listing}, ["/list"], count + (count + 9) // 10


def article_tree(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """Each leads to two others."""

    def article(rest: str, query: str) -> Page:
        number = int(rest)
        return _shuffle_words(rest), [f"/article/{each}" for each in (2 * number + 1, 2 * number + 2) if each < count]

    return {"article": article}, ["/article/0"], count


def articles_with_relations(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """Each leads to some others, most of which are known soon."""

    def article(rest: str, query: str) -> Page:
        number, chance = int(rest), random.Random(rest)
        others = [*((number * 3 + step) % count for step in range(3)), *(chance.randrange(count) for _ in range(2))]
        return _shuffle_words(rest), [f"/article/{each}" for each in others]

    return {"article": article}, ["/article/1"], count


def wide_tree(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """Each leads to eight others: until the first end comes, it looks like a maze."""

    def node(rest: str, query: str) -> Page:
        number = int(rest)
        return _shuffle_words(rest), [f"/node/{each}" for each in range(8 * number + 1, 8 * number + 9) if each < count]

    return {"node": node}, ["/node/0"], count


def random_ids(count: int) -> tuple[dict[str, Answer], list[str], int]:
    """Related documents whose addresses are random tokens."""
    ids = [f"{random.Random(number).getrandbits(64):016x}" for number in range(count)]
    numbers = {each: number for number, each in enumerate(ids)}

    def document(rest: str, query: str) -> Page:
        number, chance = numbers[rest], random.Random(rest)
        others = [*((3 * number + step) % count for step in range(3)), chance.randrange(count)]
        return _shuffle_words(rest), [f"/doc/{ids[each]}" for each in others]

    return {"doc": document}, [f"/doc/{ids[1]}"], count


# -- what never ends -------------------------------------------------------------------------------------


def months(rest: str, query: str) -> Page:
    year, month = map(int, rest.strip("/").split("/"))
    found = [divmod(year * 12 + month - 1 + step, 12) for step in (-1, 1, 12, -12)]
    days = " ".join(str(day) for day in range(1, 31))
    return f"{calendar.month_name[month]} {year}: no events. Mo Tu We {days}", [
        f"/cal/{y}/{m + 1:02}" for y, m in found
    ]


def days(rest: str, query: str) -> Page:
    day = date.fromisoformat(query.partition("=")[2])
    month = [day.replace(day=1) + timedelta(days=step) for step in range(30)]
    links = [*month, day + timedelta(days=31), day - timedelta(days=31)]
    return f"Nothing on {day:%d %B %Y}", [f"/day?date={each}" for each in links]


def agenda(rest: str, query: str) -> Page:
    """Months lead to their days and to other months, days to the other days of their month."""
    year, month = map(int, rest.split("/")[:2])
    found = [divmod(year * 12 + month - 1 + step, 12) for step in (-1, 1)]
    days = [f"/agenda/{year}/{month:02}/{day:02}" for day in range(1, 29)]
    return "No events. " + " ".join(map(str, range(1, 29))), [*days, *(f"/agenda/{y}/{m + 1:02}" for y, m in found)]


def by_month(rest: str, query: str) -> Page:
    number = int(query.partition("=")[2])
    return f"Month {number}. No events", [f"/plan?month={number + 1}", f"/plan?month={number - 1}"]


def maze(rest: str, query: str) -> Page:
    chance = random.Random(rest)
    rooms = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(5)]
    return f"You are in room {rest}. There are doors: {', '.join(rooms)}.", [f"/maze/{room}" for room in rooms]


def babbling_maze(rest: str, query: str) -> Page:
    chance = random.Random(rest)
    rooms = [f"{chance.getrandbits(48):012x}" for _ in range(4)]
    return " ".join(chance.choices(_WORDS[:1000], k=120)), [f"/babble/{room}" for room in rooms]


def facets(rest: str, query: str) -> Page:
    chosen = dict(part.split("=") for part in query.split("&")) if query else {}
    links = []
    for name, count in (("color", 12), ("size", 8), ("sort", 6), ("brand", 20)):
        for value in range(count):
            both = {**chosen, name: value}
            links.append("/shop?" + "&".join(f"{key}={both[key]}" for key in sorted(both)))
    shown = random.Random(query).sample(_WORDS[:60], 20)
    return " ".join(shown), links


def path_sessions(rest: str, query: str) -> Page:
    token = f"{random.getrandbits(64):016x}"
    return f"Page {rest.partition('/')[2]} of five", [f"/s/{token}/page{n}" for n in range(5)]


def query_sessions(rest: str, query: str) -> Page:
    return "One topic", [f"/topic?visit={random.getrandbits(64):016x}" for _ in range(3)]


def pagination(rest: str, query: str) -> Page:
    page = int(query.partition("=")[2] or 1)
    return f"Page {page}: nothing was found", [f"/search?page={page + 1}"]


def endless_chain(rest: str, query: str) -> Page:
    return "Item without a name", [f"/endless/{int(rest) + 1}"]


TRAPS: dict[str, tuple[Answer, str]] = {
    "cal": (months, "/cal/2026/11"),
    "day": (days, "/day?date=2026-11-15"),
    "agenda": (agenda, "/agenda/2026/11"),
    "plan": (by_month, "/plan?month=0"),
    "maze": (maze, "/maze/a"),
    "babble": (babbling_maze, "/babble/a"),
    "shop": (facets, "/shop"),
    "s": (path_sessions, "/s/0123456789abcdef/page0"),
    "topic": (query_sessions, "/topic?visit=0123456789abcdef"),
    "search": (pagination, "/search?page=1"),
}
# Not among the others: until it ends, a gallery looks the same, so a chain costs more pages than any of them.
ENDLESS_CHAIN: dict[str, tuple[Answer, str]] = {"endless": (endless_chain, "/endless/1")}
FINITE = [
    variants,
    variants_by_two_parameters,
    tables,
    tables_by_day,
    gallery,
    gallery_in_list,
    dictionary,
    docs_of_crates,
    manual_in_languages,
    articles,
    article_tree,
    articles_with_relations,
]
FINITE_WIDE = [wide_tree, random_ids]
