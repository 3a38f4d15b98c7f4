"""The script files that a crawl inspects, how long it scrolls, and the versions it remembers."""

from typing import Any

import pytest

from corral.domain.crawl.crawl import SCROLL_LIMIT, CrawlPlan, ItemState
from corral.domain.crawl.item import Item, ItemResult, PageSignals
from corral.domain.crawl.script_signs import ScriptSigns
from corral.domain.lists.position import ListPosition, listing_kind
from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.page_reader import ReadAnswer
from corral.fetch.browser.crawl_page import SECONDS, Rendering
from corral.fetch.crawl.page_result import result_of_page
from corral.fetch.crawl.script_check import ScriptCheck
from corral.fetch.crawl.scrolling import report_cut, scroll_plan
from corral.fetch.response import Response

_FILES = {"/1.js": "let x", "/2.js": "onscroll = () => fetch('/more')", "/3.js": "document.body.append('x')"}


async def test_script_files_are_fetched_once_and_only_until_one_answers() -> None:
    loaded: list[str] = []

    async def load(url: str) -> str:
        loaded.append(url)
        return _FILES[url]

    check = ScriptCheck()
    assert await check.may_load_more(PageSignals(scripts=("/1.js", "/2.js", "/3.js")), "t", load)
    assert loaded == ["/1.js", "/2.js"]
    signs = ScriptSigns("s", gaps=("list",))
    assert await check.may_insert(PageSignals(own_scripts=("/1.js", "/2.js")), signs, load) == (False, False)
    assert await check.may_insert(PageSignals(own_scripts=("/3.js",)), signs, load) == (True, False)
    assert loaded == ["/1.js", "/2.js", "/3.js"]


async def test_script_files_beyond_the_bound_count_as_if_they_could_add_content() -> None:
    async def load(_: str) -> str:
        return ""

    check = ScriptCheck()
    for number in range(20):
        assert await check.may_insert(PageSignals(own_scripts=(f"/{number}.js",)), ScriptSigns("s"), load) == (
            False,
            False,
        )
    assert await check.may_insert(PageSignals(own_scripts=("/20.js",)), ScriptSigns("s"), load) == (True, False)


_LIST = Item(1, "http://a.test/", "k", 0, 1, listing_kind(ListPosition(1)))


def _plan(**options: Any) -> CrawlPlan:
    return CrawlPlan.of({"start_urls": ["http://a.test/"], **options})


@pytest.mark.parametrize("max_seconds, seconds", [(None, 1_500.0), (100, 80.0), (7_200, 1_800.0)])
def test_no_page_is_scrolled_for_longer_than_half_an_hour(max_seconds: int | None, seconds: float) -> None:
    listing = {"item_links": {"css": "li a", "all": True}, "pagination": {"mode": "scroll"}, "max_pages": 501}
    plan = _plan(listing=listing, **({} if max_seconds is None else {"max_seconds": max_seconds}))
    scroll = scroll_plan(plan, _LIST)
    assert scroll.seconds == seconds
    rendering = Rendering("http://a.test/", CrawlReadOptions("", 0), scroll, cut_by=SECONDS)
    cut = report_cut(ItemResult(1, "k", ItemState.SKIPPED), rendering, plan)
    assert cut.reason == SCROLL_LIMIT
    assert ("timeout_s" in (cut.message or "")) == (seconds < 1_800)


def test_a_rendered_page_is_asked_for_without_a_condition_by_the_next_crawl() -> None:
    item = Item(1, "http://a.test/", "k", 0, 1)
    answer = Response(item.url, 200, (("etag", '"1"'),), b"", 0)
    read = ReadAnswer(crawl_page={"digest": "d", "record": "{}"})
    versions = [result_of_page(item, _plan(), answer, read, is_rendered=each) for each in (False, True)]
    assert [each.version for each in versions if isinstance(each, ItemResult)] == [
        ("d", '"1"', None),
        ("d", None, None),
    ]
