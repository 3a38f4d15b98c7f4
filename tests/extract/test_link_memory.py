"""Where links lead is remembered between pages: it must not matter, and must not grow."""

import time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.crawl.scope import Refusal
from corral.domain.net.canonical import Link, link_to
from corral.domain.net.url import parse_target
from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.link_classifier import ReadMemory
from corral.extract.page_reader import ReadRequest, read_page
from tests.extract.pages.builders import READ_TIME

# One for all tests of this module, as a reading process has one for all pages.
MEMORY = ReadMemory()
BASES = (
    "http://a.test/",
    "http://a.test/b/c",
    "http://a.test/b/d?q=1",
    "https://a.test/b/c",
    "http://b.test/x/y/z.html",
)
REFERENCES = (
    *("/x", "x", "./x", "../x", "../../x", "//b.test/x", "?page=2", "?", "x?y=1", ";x", "http:x", "http://a.test/x"),
    *("/a b", "ä", "/%41", "/a/../b", "x/", "\\x", "/2199/01/01", "http://c.test/", "javascript:x", "mailto:x@y.z"),
)


def plan(number: int = 0, **more: Any) -> str:
    named = {"start_urls": [f"http://a.test/{number}"], "max_depth": 2, **more}
    return orjson.dumps(named).decode()


def read_links(
    base: str, references: tuple[str, ...], depth: int = 1, packed: str | None = None, memory: ReadMemory = MEMORY
) -> list[list[Any]]:
    body = "".join(f'<a href="{each}">x</a>' for each in references)
    ask = CrawlReadOptions(packed or plan(), depth, 1, time.monotonic())
    headers = (("content-type", "text/html; charset=utf-8"),)
    request = ReadRequest(body.encode(), base, base, headers=headers, should_classify=False, crawl=ask)
    read = read_page(request, READ_TIME, memory=memory)
    assert read.crawl_page is not None
    return list(read.crawl_page["found"])


@given(st.lists(st.tuples(st.sampled_from(BASES), st.sampled_from(REFERENCES), st.integers(0, 2)), max_size=20))
def test_a_link_is_judged_as_if_it_were_the_first(seen: list[tuple[str, str, int]]) -> None:
    classifier = MEMORY.classifier(plan())
    today = READ_TIME.today
    for base, reference, depth in seen:
        target, is_too_deep = parse_target(base), depth + 1 > classifier.plan.max_depth
        [remembered] = classifier.classify(target, (reference,), today, is_too_deep=is_too_deep)
        link = link_to(target, reference)
        assert remembered == classifier._classify_one(target, reference, today, is_too_deep=is_too_deep)
        assert (None if remembered is None else Link(remembered.url, remembered.key, remembered.has_session)) == link


@pytest.mark.parametrize("page", ["b/c", "b/d", "e/d"])
def test_what_is_remembered_depends_on_the_page_where_it_must(page: str) -> None:
    folder = page.partition("/")[0]
    urls = [each[0] for each in read_links(f"http://a.test/{page}", ("?p=1", "x", "/x"))]
    assert urls == [f"http://a.test/{page}?p=1", f"http://a.test/{folder}/x", "http://a.test/x"]


def test_what_is_remembered_depends_on_the_depth_and_on_the_crawl() -> None:
    def reason(depth: int, packed: str | None = None) -> object:
        return read_links("http://a.test/", ("/y",), depth, packed)[0][4]

    elsewhere = plan(scope={"exclude": ["/y"]})
    assert [reason(depth) for depth in (1, 2, 1)] == [None, Refusal.TOO_DEEP, None]
    assert reason(1, elsewhere) is not None
    assert reason(1) is None


@pytest.mark.parametrize("reference", ["/{}", "/" + "😀" * 60 + "{}"], ids=["plain", "wide"])
def test_many_crawls_with_many_links_take_no_more_than_is_reckoned(reference: str) -> None:
    memory = ReadMemory(max_link_bytes=200_000)
    for number in range(8):
        links = tuple(reference.format(f"{number}-{place}") for place in range(100))
        assert len(read_links("http://a.test/", links, packed=plan(number), memory=memory)) == 100
    kept = [each for known in memory.links._known.values() for each in known.values() if each is not None]
    assert 0 < len(kept) < 350
    assert sum(2 * len(each.url) for each in kept) < 200_000
