"""Who gets which hosts of a crawl, and how many pages at once: pure decisions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.crawl.sharing import (
    assign_hosts,
    count_helpers_to_start,
    host_key_of,
    host_key_of_template,
    host_key_of_url,
    split_concurrency,
)
from corral.domain.crawl.templates.traps import names_of, template_of


@pytest.mark.parametrize(
    "url, host_key",
    [
        ("http://www.a.test/x", "a.test"),
        ("https://a.test", "a.test"),
        ("http://a.test:8080/?q=http://b.test/", "a.test:8080"),
        ("http://a.test?q", "a.test"),
    ],
)
def test_a_host_key_is_a_host_without_www(url: str, host_key: str) -> None:
    assert host_key_of_url(url) == host_key
    assert {host_key_of_template(name) for name in names_of(template_of(url))} == {host_key}
    assert host_key_of("www.a.test") == "a.test"


def test_helpers_that_want_work_get_hosts_in_turn_with_the_crawl() -> None:
    found = assign_hosts(["a", "b", "c", "d", "e"], [], [1, 2])

    assert found.assigned == {"a": 1, "b": 2, "d": 1, "e": 2}
    assert found.handed_over == {}


def test_a_crawl_that_is_nowhere_keeps_something_for_itself() -> None:
    assert assign_hosts(["a"], [], [1], is_idle=True) == ({}, {})
    assert assign_hosts(["a", "b", "c"], [], [1], is_idle=True).assigned == {"b": 1}


def test_hosts_are_assigned_a_few_at_a_time() -> None:
    found = assign_hosts([str(number) for number in range(100)], ["x"], [1])

    assert list(found.assigned.values()) == [1] * 4


def test_helpers_with_enough_work_get_nothing() -> None:
    assert assign_hosts(["a", "b"], ["c"], []) == ({}, {})


@pytest.mark.parametrize(
    "busy, wanting, handed_over",
    [
        (["a"], [1], {}),
        (["a", "b"], [1], {"b": 1}),
        (["a", "b", "c"], [1, 2], {"b": 1, "c": 2}),
        (["a", "b", "c", "d"], [1], {"c": 1, "d": 1}),
    ],
)
def test_a_crawl_hands_over_some_of_its_hosts(busy: list[str], wanting: list[int], handed_over: dict[str, int]) -> None:
    assert assign_hosts([], busy, wanting) == ({}, handed_over)
    assert assign_hosts(["x"], busy, wanting).handed_over == {}, "while there is another one"


@given(
    concurrency=st.integers(1, 50),
    under_way=st.integers(0, 50),
    had=st.dictionaries(st.integers(1, 7), st.integers(0, 20), max_size=7),
)
def test_never_more_at_once_than_allowed(concurrency: int, under_way: int, had: dict[int, int]) -> None:
    found = split_concurrency(concurrency, under_way, had)

    assert found.own >= 0
    if under_way + sum(had.values()) <= concurrency:
        assert under_way + sum(found.granted.values()) <= concurrency, "what the crawl has not finished yet counts"
        assert found.own + sum(found.granted.values()) <= concurrency, "and so does what it may begin"
    assert all(found.granted[number] >= at_once for number, at_once in had.items()), "nobody is told to stop what runs"


def test_a_helper_gets_what_the_crawl_has_stopped_using() -> None:
    assert split_concurrency(10, 10, {1: 0}) == (5, 5, {1: 0})
    assert split_concurrency(10, 7, {1: 0}) == (5, 5, {1: 3})
    assert split_concurrency(10, 5, {1: 3}) == (5, 5, {1: 5})
    assert split_concurrency(10, 5, {1: 5, 2: 0}) == (2, 3, {1: 5, 2: 0})


@pytest.mark.parametrize(
    "given, wanted",
    [
        ({"hosts": 1}, 0),
        ({"hosts": 2}, 1),
        ({"workers": 4}, 3),
        ({"workers": 4, "active": 2}, 1),
        ({"workers": 1}, 0),
        ({"pending": 99, "pages_each": 100}, 0),
        ({"pending": 250, "pages_each": 100}, 2),
        ({"pending": 250, "pages_each": 100, "active": 2}, 0),
    ],
)
def test_as_many_help_as_there_is_something_to_do_for(given: dict[str, int], wanted: int) -> None:
    plain = {"hosts": 9, "pending": 1000, "workers": 8, "pages_each": 0, "active": 0}

    assert count_helpers_to_start(**{**plain, **given}) == wanted
