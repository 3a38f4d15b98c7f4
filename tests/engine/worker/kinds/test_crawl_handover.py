"""What a worker has learned of the templates of a place goes with that place."""

from corral.domain.crawl.crawl import Counts, CrawlPlan, ItemState
from corral.domain.crawl.item import Batch, DiscoveredLink, Item, ItemResult, PageSignals
from corral.domain.crawl.templates.budget import TemplateBudget
from corral.domain.crawl.templates.traps import Trap
from corral.engine.worker.kinds.crawl.memory import CrawlMemory
from corral.engine.worker.kinds.crawl.traps import CrawlTraps


def templates_without_budget(*hosts: str) -> list[list[object]]:
    budget = TemplateBudget()
    for host in hosts:
        for _ in range(20):
            budget.observe(f"{host}/p/{{n}}", 77)
    return [each for each in budget.document()["templates"] if each[0].endswith("{n}")]


def item(number: int, host: str = "a.test") -> Item:
    return Item(number, f"http://{host}/p/{number}", f"{host}/{number}", 1, 1)


def begin_traps(**answer: object) -> CrawlTraps:
    traps = CrawlTraps()
    traps.take_report()
    traps.apply_answer({"templates": [], **answer}, 0)
    return traps


def test_a_place_that_comes_brings_what_is_known_of_it() -> None:
    traps = begin_traps()
    assert traps.hold(item(1)) is None
    traps.apply_answer({"come": {"templates": templates_without_budget("a.test")}, "gone": []}, 0)
    ended = traps.hold(item(2))
    assert ended is not None
    assert (ended.state, ended.reason) == (ItemState.DEFERRED, Trap.NO_NEW_CONTENT)
    assert traps.hold(item(2)._replace(is_deferred=True)) is None


def test_a_place_that_goes_is_forgotten() -> None:
    traps = begin_traps(templates=templates_without_budget("a.test", "b.test"))
    assert traps.hold(item(1)) is not None
    assert traps.hold(item(1, "b.test")) is not None
    traps.apply_answer({"come": None, "gone": ["a.test"]}, 0)
    assert traps.hold(item(1)) is None
    assert traps.hold(item(2, "b.test")) is not None
    traps._reported_at = 0.0
    told = traps.take_report()
    assert told is not None
    assert not [name for name in told["tallies"] if name.startswith("a.test")], "another one keeps it now"


def test_a_far_date_is_fetched_where_a_list_names_it() -> None:
    memory = CrawlMemory(CrawlPlan.of({"start_urls": ["http://a.test/"]}))
    link = DiscoveredLink("http://a.test/issue/1650-01-01", "k", "a.test", 2, Trap.CALENDAR)
    for url, reason in (("http://a.test/day/2026-11-15", "calendar"), ("http://a.test/issues", None)):
        page = item(1)._replace(url=url)
        ended = ItemResult(page.id, page.key, ItemState.DONE, found=(link,), signals=PageSignals())
        assert [each.reason for each in memory.process_result(page, ended).found] == [reason]


def test_links_to_what_others_have_are_judged_by_them() -> None:
    plan = CrawlPlan.of({"start_urls": ["http://a.test/"]})
    memory = CrawlMemory(plan)
    memory.take_report()
    known = {"templates": templates_without_budget("a.test", "b.test")}
    memory.apply_answer(Batch((), Counts(), traps=known))
    names = [(f"{host}.test", number) for host in "ab" for number in (7, 8)]
    links = tuple(DiscoveredLink(f"http://{host}/p/{number}", f"{host}{number}", host, 2) for host, number in names)
    page = item(1)
    ended = ItemResult(page.id, page.key, ItemState.DONE, found=links, signals=PageSignals())
    assert [found.reason for found in memory.process_result(page, ended).found] == ["no_new_content"] * 4
    memory = CrawlMemory(plan)
    memory.take_report()
    memory.apply_answer(Batch((), Counts(), traps=known, is_shared=True))
    found = memory.process_result(page, ended).found
    assert [each.reason for each in found] == ["no_new_content", "no_new_content", None, None]
