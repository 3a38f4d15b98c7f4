"""Sites that never end: real pages are found, and little is wasted on the rest."""

import asyncio
import calendar
import html
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from corral.domain.crawl.crawl import ItemState
from corral.domain.runs.run import RunState
from corral.wiring.app import App
from tests.chaos.level import LEVEL, by_level
from tests.chaos.report import report
from tests.domain.crawl.trap_sites import (
    ENDLESS_CHAIN,
    FINITE,
    TRAPS,
    Answer,
    article_tree,
    articles_with_relations,
    gallery,
    tables,
    variants,
    wide_tree,
)
from tests.engine.builders import node_of, run_node, settings_for
from tests.engine.crawl.crawling import crawl, start, wait_for_crawl
from tests.engine.crawl.site import Page, Site, serve_site, words_of
from tests.waiting import until

Finite = Callable[[int], tuple[dict[str, Answer], list[str], int]]
REAL = by_level(300, 5_000)
MENU = [
    "/",
    "/articles/0",
    "/product?id=0",
    "/calendar/2026/11",
    "/forum/hello",
    "/search?page=1",
    "/facets",
    "/maze/a",
]


class TrapSite(Site):
    """Articles and products are real: every page of either leads to some others. All else goes on for ever."""

    def __init__(self) -> None:
        super().__init__({})
        self.asked: Counter[str] = Counter()
        self.order: list[str] = []

    def answer(self, path: str) -> tuple[int, Mapping[str, str], str | bytes]:
        parts = urlsplit(path)
        kind, _, rest = parts.path.strip("/").partition("/")
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        with self.lock:
            self.asked[kind] += 1
            self.order.append(kind)
        made = {
            "articles": self._article,
            "product": self._product,
            "calendar": self._calendar,
            "forum": self._forum,
            "search": self._search,
            "facets": self._facets,
            "maze": self._maze,
            "loop": self._loop,
        }.get(kind, self._home)
        text, links = made(rest, query, random.Random(path))
        shown = "".join(f'<a href="{link}">{link}</a> ' for link in [*links, *MENU])
        return 200, {}, f"<title>{kind}</title><main><h1>{kind} {rest}</h1><p>{text}</main><nav>{shown}</nav>"

    def _home(self, *_: object) -> tuple[str, list[str]]:
        return "Welcome to all of this", ["/loop/"]

    def _article(self, rest: str, _: object, chance: random.Random) -> tuple[str, list[str]]:
        number = int(rest)
        below = [2 * number + step for step in (1, 2)] + [chance.randrange(REAL)]
        token = f"{random.getrandbits(64):016x}"  # another one at each visit
        traps = [f"/forum/hello?visit={token}", f"/facets?colour={token[:2]}", f"/maze/{words_of(rest, 1)}"]
        return words_of(f"article {rest}", 120), [f"/articles/{each}" for each in below if each < REAL * 3 // 4] + traps

    def _product(self, _: str, query: Mapping[str, str], __: object) -> tuple[str, list[str]]:
        number = int(query.get("id", 0))
        about = words_of(f"product {number}", 12)
        links = [f"/product?id={each}" for each in (2 * number + 1, 2 * number + 2) if each < REAL // 4]
        return f"Buy it now, it is in stock and sent within a day: {about} for {number} EUR. Free returns.", links

    def _calendar(self, rest: str, _: object, __: object) -> tuple[str, list[str]]:
        year, month = map(int, rest.split("/"))
        months = [divmod(year * 12 + month - 1 + step, 12) for step in (-1, 1, 12, -12)]
        days = " ".join(str(day) for day in range(1, 31))
        text = f"{calendar.month_name[month]} {year}: no events. Mo Tu We Th Fr Sa Su {days}"
        return text, [f"/calendar/{y}/{m + 1:02}" for y, m in months]

    def _forum(self, *_: object) -> tuple[str, list[str]]:
        tokens = [f"{random.getrandbits(64):016x}" for _ in range(5)]
        return words_of("one topic", 80), [f"/forum/hello?visit={token}" for token in tokens]

    def _search(self, _: str, query: Mapping[str, str], __: object) -> tuple[str, list[str]]:
        page = int(query.get("page", 1))
        return f"Page {page}: nothing was found. Try other words.", [f"/search?page={page + n}" for n in (1, 2, 10)]

    def _facets(self, _: str, query: Mapping[str, str], chance: random.Random) -> tuple[str, list[str]]:
        shown = chance.sample(words_of("everything in the shop", 60).split(), 30)
        names = ("colour", "size", "brand", "sort")
        more = [{**query, name: str(chance.randrange(50))} for name in names]
        return " ".join(shown), [
            "/facets?" + "&".join(f"{key}={value}" for key, value in each.items()) for each in more
        ]

    def _maze(self, rest: str, _: object, chance: random.Random) -> tuple[str, list[str]]:
        words = [words_of(f"{rest} {chance.random()}", 1) for _ in range(5)]
        return f"{words_of('maze', 150)} {words[0]}", [f"/maze/{word}/{chance.randrange(99)}" for word in words]

    def _loop(self, rest: str, *_: object) -> tuple[str, list[str]]:
        return f"A link that lacks its first slash. {words_of(rest, 60)}", ["loop/", "more/"]

    @property
    def real(self) -> int:
        return self.asked["articles"] + self.asked["product"]

    @property
    def wasted(self) -> int:
        return self.asked.total() - self.real


async def test_real_pages_are_found_and_little_is_wasted_on_traps(app: App) -> None:
    site = TrapSite()
    with serve_site(site):
        options = {"max_depth": 100, "max_pages": 3 * REAL + 1_000, "concurrency": 10}
        run = await wait_for_crawl(app, await start(app, f"{site.url}/", **options), within_s=600)
    assert (run.state, run.stats.get("stopped_by")) == (RunState.PARTIAL, None), "it ends by itself, and says so"
    report(f"{REAL} real pages among traps: {site.real} found, {site.wasted} fetches wasted: {dict(site.asked)}")
    expected = REAL * 3 // 4 + REAL // 4
    assert expected * 0.99 <= site.real <= expected, site.asked
    assert site.wasted <= max(850, run.stats["done"] // 5), site.asked
    # What is held back comes after all that is real.
    last_real = max(place for place, kind in enumerate(site.order) if kind in ("articles", "product"))
    assert last_real < 0.75 * len(site.order)
    assert run.stats["reasons"]["endless_growth"] > 0
    assert run.stats["reasons"]["repeated_segments"] > 0
    assert run.stats["left_out"]["endless_growth"] == run.stats["reasons"]["endless_growth"]
    told = {each["template"].partition("/")[2]: each for each in run.stats["held_back"]}
    facets = next(each for template, each in told.items() if template.startswith("facets?"))
    assert facets["count"] > 0
    assert facets["example"].startswith(f"{site.url}/facets?")


@pytest.mark.parametrize("count", [600])
async def test_pages_that_are_all_alike_are_all_read(app: App, count: int) -> None:
    """Content is evidence and no proof: what looks like a trap comes last, and ends by itself."""
    meters = {f"/meter/{n}": Page(text="The meter shows its value.", links=[f"/meter/{n + 1}"]) for n in range(count)}
    meters[f"/meter/{count - 1}"] = Page(text="The meter shows its value.")
    articles = {f"/article/{n}": Page(links=[f"/article/{n + 1}"] if n < 39 else []) for n in range(40)}
    pages = {"/": Page(["/meter/0", "/article/0"]), **meters, **articles}
    with serve_site(pages) as site:
        run, found, counts = await crawl(app, f"{site.url}/", concurrency=8, max_depth=100, max_pages=5_000)
        in_depth = 100
        assert set(site.hits.values()) == {1}
    assert {path for path in found if path.startswith("/article")} == set(articles)
    assert len([path for path in found if path.startswith("/meter")]) == in_depth
    assert (run.state, counts.deferred) == (RunState.COMPLETED, 0), "the depth is what was asked for"
    order = [path for path, _ in site.asked_at]
    assert order.index("/article/39") < order.index("/meter/60"), "what is new comes first"


async def test_a_list_of_pages_that_are_all_alike_is_read_to_its_end(app: App) -> None:
    pages = {
        f"/meter/{number}": Page(text="The meter shows its value. All is well.") for number in range(by_level(450, 700))
    }
    pages["/"] = Page(list(pages))
    with serve_site(pages) as site:
        run, found, counts = await crawl(app, f"{site.url}/", concurrency=8)
        assert len(found) == len(pages)
        assert set(site.hits.values()) == {1}
    assert (run.state, counts.deferred, counts.skipped) == (RunState.COMPLETED, 0, 0)


class BesideTraps(Site):
    """Articles from the words of one vocabulary beside traps, all of whose pages are alike, too."""

    def __init__(self, shape: str, count: int) -> None:
        super().__init__({})
        self.shape, self.count = shape, count

    def answer(self, path: str) -> tuple[int, Mapping[str, str], str | bytes]:
        parts = urlsplit(path)
        kind, _, rest = parts.path.strip("/").partition("/")
        text, links = getattr(self, f"_{kind or 'home'}")(rest, random.Random(path))
        shown = "".join(f'<a href="{link}">{link}</a> ' for link in links)
        return 200, {}, f"<title>{kind}</title><main><p>{text}</main><nav>{shown}</nav>"

    def _home(self, *_: object) -> tuple[str, list[str]]:
        # Chains are longer than the depth of a crawl: this one is entered at both ends.
        ends = ["/article/0", f"/article/{self.count - 1}"]
        first = {"listed": ["/list/0"], "chain": ends, "related": ["/article/1"]}[self.shape]
        return "Welcome", ["/calendar/2026/11", "/maze/a", *first]

    def _list(self, rest: str, _: object) -> tuple[str, list[str]]:
        first = int(rest) * 10
        more = [f"/list/{int(rest) + 1}"] if first + 10 < self.count else []
        return "All articles", [*(f"/article/{n}" for n in range(first, min(self.count, first + 10))), *more]

    def _article(self, rest: str, chance: random.Random) -> tuple[str, list[str]]:
        number = int(rest)
        others = {
            "listed": [],
            "chain": [number - 1, number + 1],
            "related": [*((3 * number + step) % self.count for step in range(3)), chance.randrange(self.count)],
        }[self.shape]
        text = " ".join(chance.sample(words_of("one vocabulary", 40).split(), 20))
        return text, [f"/article/{each}" for each in others if 0 <= each < self.count]

    def _calendar(self, rest: str, _: object) -> tuple[str, list[str]]:
        year, month = map(int, rest.split("/")[:2])
        months = [divmod(year * 12 + month - 1 + step, 12) for step in (-1, 1)]
        days = [f"/calendar/{year}/{month:02}/{day:02}" for day in range(1, 29)]
        return "No events. Mo Tu We Th Fr Sa Su", [*days, *(f"/calendar/{y}/{m + 1:02}" for y, m in months)]

    def _maze(self, _: object, chance: random.Random) -> tuple[str, list[str]]:
        return "A room with doors.", [f"/maze/{words_of(str(chance.random()), 1)}" for _ in range(4)]


# tests/domain/crawl crawls all shapes in miniature.
@pytest.mark.parametrize("shape", ["listed", "chain", "related"] if LEVEL else ["chain"])
async def test_articles_that_are_alike_come_before_traps(app: App, shape: str) -> None:
    """Of the budget, a hundred pages are left for lists and for finding out that the traps grow."""
    site = BesideTraps(shape, 180)
    with serve_site(site):
        options = {"max_depth": 100, "max_pages": 280, "concurrency": 8}
        await wait_for_crawl(app, await start(app, f"{site.url}/", **options), within_s=60)
    asked = Counter(path.split("/")[1] for path in site.hits)
    report(f"180 articles ({shape}) beside a calendar and a maze, of 280 pages: {dict(asked)}")
    assert asked["article"] == site.count, asked


class CalendarOfTwoFolders(Site):
    """Months lead to their days in another folder, and show the addresses. The photos are real."""

    def __init__(self, photos: int) -> None:
        super().__init__({})
        self.photos = photos

    def answer(self, path: str) -> tuple[int, Mapping[str, str], str | bytes]:
        kind, _, rest = path.strip("/").partition("/")
        links, text = ["/cal/2026/11", "/photo/0"], "Welcome"
        if kind == "cal":
            month = int(rest[:4]) * 12 + int(rest[5:]) - 1
            links = [f"/cal/{each // 12}/{each % 12 + 1:02}" for each in (month - 1, month + 1)]
            links += [f"/day/{month // 12}-{month % 12 + 1:02}-{day:02}" for day in range(1, 29)]
            text = "Calendar"
        elif kind == "photo":
            near = [int(rest) + step for step in (-1, 1, 20)]
            text, links = "Photo", [f"/photo/{each}" for each in near if 0 <= each < self.photos]
        elif kind == "day":
            text, links = "No events on this day", []
        shown = "".join(f'<a href="{link}">{link}</a> ' for link in links)
        return 200, {}, f"<title>{kind}</title><p>{text}</p>{shown}"


async def test_photos_come_before_a_calendar_of_two_folders(app: App) -> None:
    site = CalendarOfTwoFolders(150)
    with serve_site(site):
        options = {"max_depth": 100, "max_pages": 450, "concurrency": 8}
        await wait_for_crawl(app, await start(app, f"{site.url}/", **options), within_s=60)
    asked = Counter(path.split("/")[1] for path in site.hits)
    assert asked["photo"] == 150, asked


class MixedSite(Site):
    """A finite site of `trap_sites` beside some of its traps; the home page names the traps first."""

    def __init__(self, finite: Finite, count: int, traps: Sequence[str]) -> None:
        super().__init__({})
        self.real, entries, self.count = finite(count)
        every_trap = TRAPS | ENDLESS_CHAIN
        self.traps = {kind: every_trap[kind][0] for kind in traps}
        self.entries = [*(every_trap[kind][1] for kind in traps), *entries]
        if finite in (gallery, tables):
            # Chains are longer than the depth of a crawl: these are entered at both ends.
            self.entries.append(entries[0].replace("0", str(count - 1)))

    def answer(self, path: str) -> tuple[int, Mapping[str, str], str | bytes]:
        parts = urlsplit(path)
        kind, _, rest = parts.path.strip("/").partition("/")
        answer = {**self.real, **self.traps}.get(kind)
        text, links = ("Welcome", self.entries) if answer is None else answer(rest, parts.query)
        shown = "".join(f'<a href="{html.escape(link)}">{html.escape(link)}</a> ' for link in links)
        return 200, {}, f"<title>{kind or 'home'}</title><main><p>{text}</main><nav>{shown}</nav>"

    @property
    def found(self) -> int:
        return sum(urlsplit(path).path.split("/")[1] in self.real for path in self.hits)


FOUR = ("agenda", "babble", "topic", "search")
OTHER_FOUR = ("cal", "maze", "shop", "s")


async def find_real_pages(app: App, finite: Finite, count: int, traps: Sequence[str]) -> tuple[int, int]:
    """Crawl with a budget of 1.3 times the number of real pages. Return how many were fetched, and their number."""
    site = MixedSite(finite, count, traps)
    with serve_site(site):
        options = {"max_depth": 100, "max_pages": round(1.3 * site.count), "concurrency": 4}
        await wait_for_crawl(app, await start(app, f"{site.url}/", **options), within_s=240)
    report(f"{finite.__name__} beside {'+'.join(traps)}, budget 1.3: {site.found} of {site.count} real pages")
    return site.found, site.count


# tests/domain/crawl crawls every pair in miniature.
MORE_PAIRS = [(variants, ("search",)), (article_tree, ("search",)), (gallery, FOUR), (variants, OTHER_FOUR)]


@pytest.mark.parametrize(
    "finite, traps",
    [
        (articles_with_relations, FOUR),
        (wide_tree, ("endless",)),
        *(MORE_PAIRS if LEVEL else ()),
    ],
)
async def test_real_pages_come_before_those_of_traps(app: App, finite: Finite, traps: Sequence[str]) -> None:
    found, count = await find_real_pages(app, finite, 200, traps)
    assert found >= 0.95 * count


@pytest.mark.skipif(not LEVEL, reason="the long version")
@pytest.mark.parametrize("traps", [*((kind,) for kind in TRAPS), FOUR, OTHER_FOUR, tuple(TRAPS)], ids="+".join)
async def test_real_pages_of_every_shape_come_first(app: App, traps: Sequence[str]) -> None:
    """Beside ten traps, finding out that they are traps takes more than the budget leaves for that."""
    least = 0.95 if len(traps) <= 4 else 0.4
    results = {finite.__name__: await find_real_pages(app, finite, 400, traps) for finite in FINITE}
    assert {name: each for name, each in results.items() if each[0] < least * each[1]} == {}


class Endless(Site):
    """A chain of pages without end."""

    def __init__(self) -> None:
        super().__init__({})

    def answer(self, path: str) -> tuple[int, Mapping[str, str], str | bytes]:
        number = int(path.rpartition("=d")[2]) if "=" in path else 0
        links = "".join(f'<a href="/day?date=d{number * 4 + step}">next</a>' for step in range(1, 5))
        return 200, {}, f"<title>Day</title><main><p>Nothing happens on this day. Look at another one.</main>{links}"


async def test_what_is_held_back_is_told_and_can_be_switched_off(app: App) -> None:
    with serve_site(Endless()) as site:
        budget = by_level(500, 1_500)
        options = {"max_depth": 100, "max_pages": budget}
        run, found, _ = await crawl(app, f"{site.url}/", **options)
        assert run.state is RunState.PARTIAL
        assert len(found) < 400
        held = run.stats["held_back"]
        assert {each["reason"] for each in held} == {"endless_growth"}
        assert {each["template"] for each in held} >= {f"{site.url.removeprefix('http://')}/day?date"}
        assert held[0]["example"].startswith(f"{site.url}/day?date=")
        count = sum(each["count"] for each in held)
        assert count == run.stats["left_out"]["endless_growth"] == run.stats["skipped"]
        assert len(await app.store.crawls.items(run.id, ItemState.DEFERRED, 0, 10_000)) == count
        run, _, counts = await crawl(app, f"{site.url}/", avoid_traps=False, **options)
        assert (run.state, run.stats["stopped_by"], counts.done) == (RunState.COMPLETED, "budget", budget)


@pytest.mark.skipif(not LEVEL, reason="the long version")
async def test_what_was_learned_survives_a_worker(database: str | None, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, database, egress_allow="127.0.0.1/32:*", workers=1)
    site = TrapSite()
    async with run_node(settings) as app:
        with serve_site(site):
            options = {"max_depth": 100, "max_pages": 5 * REAL, "concurrency": 10}
            run_id = await start(app, f"{site.url}/", **options)
            for share in (0.3, 0.6):
                await until(lambda share=share: site.real > share * REAL, 300)  # type: ignore[misc]
                await asyncio.sleep(1.0)
                [worker] = node_of(app).worker_pids
                os.kill(worker, signal.SIGKILL)
                await until(lambda dead=worker: dead not in node_of(app).worker_pids)  # type: ignore[misc]
            run = await wait_for_crawl(app, run_id, within_s=600)
    assert run.state is RunState.PARTIAL
    assert site.real >= 0.995 * REAL
    assert site.wasted <= max(1_000, REAL // 4), site.asked
