"""Who gets which hosts of a crawl, and how many pages at once: pure decisions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.crawl.sharing import allot, deal, helpers_wanted, place_in, place_of_host, place_of_template
from corral.domain.crawl.traps import names_of, template_of


@pytest.mark.parametrize(
    "url, place",
    [
        ("http://www.a.test/x", "a.test"),
        ("https://a.test", "a.test"),
        ("http://a.test:8080/?q=http://b.test/", "a.test:8080"),
        ("http://a.test?q", "a.test"),
    ],
)
def test_a_place_is_a_host_without_www(url: str, place: str) -> None:
    assert place_in(url) == place
    assert {place_of_template(name) for name in names_of(template_of(url))} == {place}
    assert place_of_host("www.a.test") == "a.test"


def test_those_that_are_hungry_get_places_in_turn_with_the_crawl() -> None:
    found = deal(["a", "b", "c", "d", "e"], [], [1, 2])

    assert found.given == {"a": 1, "b": 2, "d": 1, "e": 2}
    assert found.moved == {}


def test_a_crawl_that_is_nowhere_keeps_something_for_itself() -> None:
    assert deal(["a"], [], [1], is_idle=True) == ({}, {})
    assert deal(["a", "b", "c"], [], [1], is_idle=True).given == {"b": 1}


def test_places_are_dealt_a_few_at_a_time() -> None:
    found = deal([str(number) for number in range(100)], ["x"], [1])

    assert list(found.given.values()) == [1] * 4


def test_nobody_gets_anything_who_has_enough() -> None:
    assert deal(["a", "b"], ["c"], []) == ({}, {})


@pytest.mark.parametrize(
    "busy, hungry, moved",
    [
        (["a"], [1], {}),
        (["a", "b"], [1], {"b": 1}),
        (["a", "b", "c"], [1, 2], {"b": 1, "c": 2}),
        (["a", "b", "c", "d"], [1], {"c": 1, "d": 1}),
    ],
)
def test_a_crawl_that_is_everywhere_gives_up_some(busy: list[str], hungry: list[int], moved: dict[str, int]) -> None:
    assert deal([], busy, hungry) == ({}, moved)
    assert deal(["x"], busy, hungry).moved == {}, "while there is another one"


@given(
    concurrency=st.integers(1, 50),
    under_way=st.integers(0, 50),
    had=st.dictionaries(st.integers(1, 7), st.integers(0, 20), max_size=7),
)
def test_never_more_at_once_than_allowed(concurrency: int, under_way: int, had: dict[int, int]) -> None:
    found = allot(concurrency, under_way, had)

    assert found.own >= 0
    if under_way + sum(had.values()) <= concurrency:
        assert under_way + sum(found.granted.values()) <= concurrency, "what the crawl has not finished yet counts"
        assert found.own + sum(found.granted.values()) <= concurrency, "and so does what it may begin"
    assert all(found.granted[number] >= at_once for number, at_once in had.items()), "nobody is told to stop what runs"


def test_a_helper_gets_what_the_crawl_has_stopped_using() -> None:
    assert allot(10, 10, {1: 0}) == (5, 5, {1: 0})
    assert allot(10, 7, {1: 0}) == (5, 5, {1: 3})
    assert allot(10, 5, {1: 3}) == (5, 5, {1: 5})
    assert allot(10, 5, {1: 5, 2: 0}) == (2, 3, {1: 5, 2: 0})


@pytest.mark.parametrize(
    "given, wanted",
    [
        ({"places": 1}, 0),
        ({"places": 2}, 1),
        ({"workers": 4}, 3),
        ({"workers": 4, "there": 2}, 1),
        ({"workers": 1}, 0),
        ({"pending": 99, "pages_each": 100}, 0),
        ({"pending": 250, "pages_each": 100}, 2),
        ({"pending": 250, "pages_each": 100, "there": 2}, 0),
    ],
)
def test_as_many_help_as_there_is_something_to_do_for(given: dict[str, int], wanted: int) -> None:
    plain = {"places": 9, "pending": 1000, "workers": 8, "pages_each": 0, "there": 0}

    assert helpers_wanted(**{**plain, **given}) == wanted
