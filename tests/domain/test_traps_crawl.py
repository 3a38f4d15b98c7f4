"""A crawl in miniature: every decision of `domain` on a site of real pages and traps, without anything fetched."""

import random
from collections import Counter, deque
from collections.abc import Iterator
from datetime import date

import pytest

from corral.domain.canonical import links_to
from corral.domain.fingerprint import fingerprint, rare_words
from corral.domain.scope import Scope
from corral.domain.traps import Change, TemplateBudget, shape_of, template_of
from corral.domain.url import parse_target

REAL = 3_000
HOME = "https://example.com/"
TODAY = date(2026, 11, 15)
_WORDS = ["".join(random.Random(number).choices("abcdefghijklmnopqrstuvwxyz", k=7)) for number in range(4_000)]
_MENU = "Home Articles Shop Calendar Contact Imprint Search"


class Site:
    """What a page says and where it leads. Articles and a shop are real; all else goes on for ever."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def answer(self, url: str) -> tuple[str, list[str]]:
        target = parse_target(url)
        kind, _, rest = target.path.strip("/").partition("/")
        chance = random.Random(url)
        self.asked[kind] += 1
        pages = {
            "articles": self._article,
            "calendar": self._calendar,
            "list": self._list,
            "facets": self._facets,
            "maze": self._maze,
            "loop": self._loop,
            "forum": self._forum,
        }
        text, links = pages.get(kind, self._home)(rest, target.query or "", chance)
        return f"{_MENU} {text}", links

    def _home(self, *_: object) -> tuple[str, list[str]]:
        return "Welcome", [
            *map(_article, range(10)),
            "/calendar/2026/11",
            "/list?page=1",
            "/facets",
            "/maze/a",
            "/loop/",
        ]

    def _article(self, rest: str, _: str, chance: random.Random) -> tuple[str, list[str]]:
        number = int(rest.partition("-")[0])
        follow = [number * 3 + step for step in (1, 2, 3)] + [chance.randrange(REAL) for _ in range(4)]
        links = [_article(each) for each in follow if each < REAL]
        # Each with the session of this visit, and one into each trap.
        sid = chance.getrandbits(40)
        traps = [
            f"/forum/topic?sid={sid}",
            f"/facets?c={sid % 99}",
            f"/maze/{sid}",
            f"/articles/{rest}?utm_source={sid}",
        ]
        return " ".join(chance.sample(_WORDS, 150)), [*links, *traps]

    def _calendar(self, rest: str, _: str, __: random.Random) -> tuple[str, list[str]]:
        year, month = map(int, rest.strip("/").split("/"))
        months = [divmod(year * 12 + month - 1 + step, 12) for step in (-1, 1, 12)]
        return f"No events in {month} {year}. " + "Mo Tu We " * 5, [f"/calendar/{y}/{m + 1:02}" for y, m in months]

    def _list(self, _: str, query: str, __: random.Random) -> tuple[str, list[str]]:
        page = int(query.partition("=")[2] or 1)
        return f"Page {page}: no results", [f"/list?page={page + 1}", f"/list?page={page + 10}"]

    def _facets(self, _: str, query: str, chance: random.Random) -> tuple[str, list[str]]:
        names = ["colour", "size", "brand", "sort", "c"]
        found = chance.sample(_WORDS[:400], 60)
        return " ".join(found), [f"/facets?{query}&{name}={chance.randrange(50)}" for name in names]

    def _maze(self, rest: str, _: str, chance: random.Random) -> tuple[str, list[str]]:
        words = [chance.choice(_WORDS) for _ in range(5)]
        return f"{' '.join(_WORDS[:200])} {words[0]}", [f"/maze/{word}/{chance.randrange(99)}" for word in words]

    def _loop(self, *_: object) -> tuple[str, list[str]]:
        return "A link without its slash " + " ".join(random.choices(_WORDS, k=80)), ["loop/", "more/"]

    def _forum(self, *_: object) -> tuple[str, list[str]]:
        return "One topic " + " ".join(_WORDS[:50]), []


def _article(number: int) -> str:
    return f"/articles/{number}-{_WORDS[number]}"


def crawl(site: Site, most: int) -> Iterator[str]:
    """Breadth first; what was let in is looked at again before it is fetched, and again when its template is lifted."""
    scope = Scope.of({"max_depth": 100}, [HOME])
    budget = TemplateBudget()
    queue, seen = deque([(HOME, 0)]), {HOME}
    skipped: list[tuple[str, int]] = []
    while queue and most:
        url, depth = queue.popleft()
        template = template_of(url)
        if budget.hold(template) is not None:
            skipped.append((url, depth))
            continue
        most -= 1
        yield url
        text, references = site.answer(url)
        led_to: set[str] = set()
        for link in links_to(parse_target(url), references):
            if link is None or link.key in seen:
                continue
            seen.add(link.key)
            if scope.refuses(link.url, depth + 1) or shape_of(link.url, TODAY) or budget.admit(template_of(link.url)):
                continue
            led_to.add(template_of(link.url))
            queue.append((link.url, depth + 1))
        changes = budget.observe(template, fingerprint(text), words=rare_words(text), led_to=led_to)
        if Change.LIFTED in changes.values():
            queue.extend(skipped)
            skipped.clear()


@pytest.fixture(scope="module")
def fetched() -> Site:
    site = Site()
    for _ in crawl(site, most=3 * REAL):
        pass
    return site


def test_nearly_every_real_page_is_found(fetched: Site) -> None:
    assert fetched.asked["articles"] >= 0.99 * REAL
    assert fetched.asked["articles"] <= REAL, "a page was fetched twice"


@pytest.mark.parametrize("trap", ["calendar", "list", "facets", "maze", "loop", "forum"])
def test_no_trap_eats_the_crawl(fetched: Site, trap: str) -> None:
    assert 0 < fetched.asked[trap] < 150, fetched.asked


def test_all_traps_together_cost_what_a_crawl_of_five_thousand_pages_may_waste(fetched: Site) -> None:
    assert fetched.asked.total() - REAL <= 250, fetched.asked
