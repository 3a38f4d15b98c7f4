"""What a worker has learned of the templates of a place goes with that place."""

from corral.domain.crawl import Counts, CrawlPlan, ItemState
from corral.domain.item import Ended, Found, Item, Seen, Step
from corral.domain.traps import Trap
from corral.engine.kinds.crawl_memory import CrawlMemory
from corral.engine.kinds.crawl_traps import CrawlTraps

BARREN = [0, 0, 0, 0, 15, [], []]


def item(number: int, host: str = "a.test") -> Item:
    return Item(number, f"http://{host}/p/{number}", f"{host}/{number}", 1, 1)


def begun(**answer: object) -> CrawlTraps:
    traps = CrawlTraps()
    traps.told(is_idle=False)
    traps.answered({"lifted": [], "templates": [], "held": [], **answer})
    return traps


def test_a_place_that_comes_brings_what_is_known_of_it() -> None:
    traps = begun()
    assert traps.held(item(1)) is None
    known = {"templates": [["a.test/p/{n}", *BARREN]], "held": [["no_new_content", "a.test/p/{n}"]]}
    traps.answered({"lifted": [], "come": known, "gone": []})
    ended = traps.held(item(2))
    assert ended is not None
    assert (ended.state, ended.reason) == (ItemState.SKIPPED, Trap.NO_NEW_CONTENT)


def test_a_place_that_goes_is_forgotten() -> None:
    held = [["no_new_content", f"{host}.test/p/{{n}}"] for host in "ab"]
    traps = begun(templates=[["a.test/p/{n}", *BARREN], ["b.test/p/{n}", *BARREN]], held=held)
    assert traps.held(item(1)) is not None
    assert traps.held(item(1, "b.test")) is not None
    traps.answered({"lifted": [], "come": None, "gone": ["a.test"]})
    assert traps.held(item(1)) is None
    assert traps.held(item(2, "b.test")) is not None
    traps._told_at = 0.0
    told = traps.told(is_idle=True)
    assert told is not None
    assert not [name for name in told["tallies"] if name.startswith("a.test")], "another one keeps it now"
    # Nothing of it is asked back, however the rest of it does.
    traps.answered({"lifted": [0 for _ in told["lifts"]], "come": None, "gone": ["b.test"]})
    assert not traps.has_more


def test_links_to_what_others_have_are_judged_by_them() -> None:
    plan = CrawlPlan.of({"start_urls": ["http://a.test/"]})
    memory = CrawlMemory(plan)
    memory.told(is_idle=False)
    known = {"templates": [[f"{host}.test/p/{{n}}", *BARREN] for host in "ab"], "held": [], "lifted": []}
    memory.answered(Step((), Counts(), traps=known))
    names = [(f"{host}.test", number) for host in "ab" for number in (7, 8)]
    links = tuple(Found(f"http://{host}/p/{number}", f"{host}{number}", host, 2) for host, number in names)
    page = item(1)
    ended = Ended(page.id, page.key, ItemState.DONE, found=links, seen=Seen())
    assert [found.reason for found in memory.judged(page, ended).found] == ["no_new_content"] * 4
    memory = CrawlMemory(plan)
    memory.told(is_idle=False)
    memory.answered(Step((), Counts(), traps=known, is_shared=True))
    found = memory.judged(page, ended).found
    assert [each.reason for each in found] == ["no_new_content", "no_new_content", None, None]
