from dataclasses import replace
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.net.http_cache import (
    CacheMode,
    StoredPage,
    age_s,
    combine_uses,
    directives,
    freshness_s,
    is_fresh,
    is_usable,
    matches,
    may_use_cache,
    refresh,
    should_store,
    storable_headers,
    validators,
)

NOW = 1_700_000_000.0
TEXT = st.text(max_size=40)
HEADERS = st.lists(
    st.tuples(st.sampled_from(["cache-control", "expires", "date", "age", "etag", "last-modified", "vary"]), TEXT),
    max_size=6,
).map(tuple)


def a_page(*headers: tuple[str, str], status: int = 200, chain: tuple[str, ...] = (), at: float = NOW) -> StoredPage:
    return StoredPage("http://a.test/", status, headers, b"body", chain, at, (("accept", "text/html"),))


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ((), 0),
        ((("cache-control", "max-age=60"),), 60),
        ((("cache-control", "private, MAX-AGE=60"),), 60),
        ((("cache-control", 'max-age="60"'),), 60),
        ((("cache-control", "s-maxage=60"),), 0),
        ((("cache-control", "max-age=60"), ("cache-control", "max-age=5")), 5),
        ((("cache-control", "max-age=-1"),), 0),
        ((("cache-control", "max-age=soon"),), 0),
        ((("cache-control", f"max-age={'9' * 100_000}"),), 0),
        ((("cache-control", "max-age=9999999999"),), 31_536_000),
        ((("expires", formatdate(NOW + 30)), ("date", formatdate(NOW))), 30),
        ((("cache-control", "max-age=5"), ("expires", formatdate(NOW + 30)), ("date", formatdate(NOW))), 5),
        ((("expires", "0"), ("date", formatdate(NOW))), 0),
        ((("expires", formatdate(NOW - 30)), ("date", formatdate(NOW))), 0),
        ((("expires", formatdate(NOW + 30)),), 0),
    ],
)
def test_how_long_an_answer_holds(headers: tuple[tuple[str, str], ...], seconds: float) -> None:
    assert freshness_s(headers) == seconds


def test_an_answer_ages_from_where_it_arrived() -> None:
    page = a_page(("cache-control", "max-age=60"), ("age", "50"))
    assert age_s(page, NOW + 5) == 55
    assert is_fresh(page, NOW + 9)
    assert not is_fresh(page, NOW + 10)
    dated = a_page(("cache-control", "max-age=60"), ("date", formatdate(NOW - 40)))
    assert not is_fresh(dated, NOW + 20)


def test_a_clock_set_back_makes_nothing_fresh_again() -> None:
    assert not is_fresh(a_page(("cache-control", "max-age=60")), NOW - 3600)


def test_no_cache_is_asked_about_each_time() -> None:
    page = a_page(("cache-control", "no-cache, max-age=60"), ("etag", '"a"'))
    assert not is_usable(page, CacheMode.REVALIDATE, (), NOW)
    assert should_store(page, CacheMode.REVALIDATE)


@pytest.mark.parametrize(
    "page, kept",
    [
        (a_page(("cache-control", "max-age=60")), True),
        (a_page(("etag", '"a"')), True),
        (a_page(("last-modified", formatdate(NOW))), True),
        (a_page(("cache-control", "private, max-age=60")), True),
        (a_page(), False),
        (a_page(("cache-control", "no-store, max-age=60"), ("etag", '"a"')), False),
        (a_page(("etag", '"a"'), ("vary", "*")), False),
        (a_page(("etag", '"a"'), chain=("http://b.test/",)), False),
        (a_page(("etag", '"a"'), status=404), True),
        *((a_page(("etag", '"a"'), status=status), False) for status in (206, 301, 304, 401, 403, 429, 500, 503)),
    ],
)
def test_what_is_kept(page: StoredPage, kept: bool) -> None:
    assert should_store(page, CacheMode.REVALIDATE) is kept


@pytest.mark.parametrize("mode", [CacheMode.REVALIDATE, CacheMode.REPLAY])
def test_what_came_from_an_address_with_a_secret_is_not_kept(mode: CacheMode) -> None:
    page = a_page(("etag", '"a"'))
    assert should_store(page, mode)
    assert not should_store(replace(page, url="http://a.test/?token=abc"), mode)
    assert not should_store(replace(page, chain=("http://a.test/?sig=abc",)), mode)


def test_a_replay_keeps_and_uses_what_was_fetched_once() -> None:
    page = a_page(("cache-control", "no-store"), ("vary", "*"), chain=("http://b.test/",))
    assert should_store(page, CacheMode.REPLAY)
    assert is_usable(page, CacheMode.REPLAY, (), NOW + 1e9)
    assert not should_store(a_page(status=403), CacheMode.REPLAY), "a refusal is not a page"


def test_an_answer_chosen_for_another_request_is_not_used() -> None:
    page = a_page(("cache-control", "max-age=60"), ("vary", "Accept, User-Agent"))
    assert matches(page, (("accept", "text/html"),))
    assert not matches(page, (("accept", "application/json"),))
    assert not matches(page, (("accept", "text/html"), ("user-agent", "other")))
    assert not is_usable(page, CacheMode.REVALIDATE, (("accept", "application/json"),), NOW)


def test_what_is_asked_about_a_stored_answer() -> None:
    assert validators(a_page()) == {}
    asked = validators(a_page(("etag", 'W/"a"'), ("last-modified", "yesterday")))
    assert asked == {"if-none-match": 'W/"a"', "if-modified-since": "yesterday"}


def test_a_304_renews_the_answer_and_not_its_body() -> None:
    page = a_page(("etag", '"a"'), ("cache-control", "max-age=1"), ("content-type", "text/html"), ("x", "kept"))
    told = (("cache-control", "max-age=60"), ("content-type", "text/plain"), ("etag", 'W/"a"'), ("set-cookie", "s=1"))
    renewed = refresh(page, told, NOW + 100)
    assert renewed is not None
    assert is_fresh(renewed, NOW + 150)
    assert (renewed.body, dict(renewed.headers)["content-type"], dict(renewed.headers)["x"]) == (
        b"body",
        "text/html",
        "kept",
    )
    assert "set-cookie" not in dict(renewed.headers)
    assert refresh(page, (("etag", '"b"'),), NOW) is None, "it speaks of another version"


@pytest.mark.parametrize(
    "headers, has_login, may",
    [
        ({}, False, True),
        ({"Accept": "application/json"}, False, True),
        ({}, True, False),
        ({"Authorization": "Bearer x"}, False, False),
        ({"cookie": "a=1"}, False, False),
        ({"X-Api-Key": "x"}, False, False),
    ],
)
def test_a_request_that_says_who_we_are_never_meets_the_cache(
    headers: dict[str, str], has_login: bool, may: bool
) -> None:
    assert may_use_cache(CacheMode.REPLAY, headers, has_login=has_login) is may
    assert not may_use_cache(CacheMode.OFF, headers, has_login=has_login)


def test_cookies_are_not_written_down() -> None:
    assert storable_headers((("set-cookie", "sid=1"), ("etag", "x"))) == (("etag", "x"),)


def test_several_requests_are_told_as_the_least_of_them() -> None:
    assert combine_uses(["hit", "revalidated"]) == "revalidated"
    assert combine_uses(["hit", "miss"]) == "miss"
    assert combine_uses([]) is None


@given(HEADERS, st.floats(-1e12, 1e12))
def test_no_header_makes_a_decision_fail_or_an_age_negative(headers: tuple[tuple[str, str], ...], later: float) -> None:
    page = a_page(*headers)
    assert freshness_s(headers) >= 0
    assert age_s(page, NOW + later) >= 0
    assert isinstance(is_usable(page, CacheMode.REVALIDATE, headers, NOW + later), bool)
    assert refresh(page, headers, NOW) is None or directives(headers) is not None
