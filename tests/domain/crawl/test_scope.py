import json
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.crawl.scope import Refusal, Scope, ScopeMode, is_named_as_file
from corral.domain.errors import BadInput
from corral.domain.net.canonical import canonical_url
from corral.domain.net.url import parse_target
from corral.domain.net.url_pattern import UrlPattern

START = "https://www.example.com/docs/guide/index.html"


def scope(start: str = START, **rules: Any) -> Scope:
    return Scope.of(rules, [start])


@pytest.mark.parametrize(
    "mode, inside, outside",
    [
        (
            "site",
            ["https://example.com/", "https://www.example.com/x", "http://a.b.example.com/"],
            [
                "https://example.org/",
                "https://notexample.com/",
                "https://example.com.evil.org/",
                "https://example.com:8443/",
            ],
        ),
        (
            "host",
            ["https://www.example.com/x", "http://www.example.com/"],
            [
                "https://example.com/",
                "https://a.www.example.com/",
                "https://www.example.com:8443/",
                "http://www.example.com:443/",
            ],
        ),
        (
            "path",
            [
                "https://www.example.com/docs/guide/",
                "https://www.example.com/docs/guide/a/b?c=d",
                "https://www.example.com/docs/guide",
            ],
            [
                "https://www.example.com/docs/",
                "https://www.example.com/docs/guided",
                "https://example.com/docs/guide/x",
            ],
        ),
        ("any", ["https://example.org/", "http://127.0.0.1:81/x"], []),
    ],
)
def test_the_mode_says_where_a_crawl_may_go(mode: str, inside: list[str], outside: list[str]) -> None:
    given = scope(mode=mode)

    assert [url for url in inside if given.refuses(url, 1) is not None] == []
    assert {given.refuses(url, 1) for url in outside} <= {Refusal.OUT_OF_SCOPE}


def test_an_address_has_no_subdomains_and_its_port_is_part_of_it() -> None:
    given = scope("http://127.0.0.1:8000/")

    assert given.refuses("http://127.0.0.1:8000/x", 1) is None
    assert given.refuses("http://127.0.0.1:8001/x", 1) is Refusal.OUT_OF_SCOPE
    assert given.refuses("http://1.127.0.0.1.example.com:8000/", 1) is Refusal.OUT_OF_SCOPE
    assert scope("http://[::1]:81/").refuses("http://[::1]:81/x", 1) is None


def test_allowed_domains_are_reached_beside_the_site() -> None:
    given = scope(allowed_domains=["Other.org", "*.third.net"])

    assert given.refuses("https://cdn.other.org/x", 1) is None
    assert given.refuses("https://third.net/x", 1) is None
    assert given.refuses("https://example.com/x", 1) is None
    assert given.refuses("https://another.org/x", 1) is Refusal.OUT_OF_SCOPE


def test_allowed_domains_bound_a_crawl_that_may_go_anywhere() -> None:
    given = scope(mode="any", allowed_domains=["other.org"])

    assert given.refuses("https://other.org/x", 1) is None
    assert given.refuses("https://example.com/x", 1) is None
    assert given.refuses("https://another.org/x", 1) is Refusal.OUT_OF_SCOPE


@pytest.mark.parametrize(
    "pattern, url, matches",
    [
        ("/articles/*", "https://example.com/articles/1", True),
        ("/articles/*", "https://example.com/articles/", True),
        ("/articles/*", "https://example.com/articles/1/2?page=3", True),
        ("/articles/*", "https://example.com/articles", False),
        ("/articles/*", "https://example.com/en/articles/1", False),
        ("/articles", "https://example.com/articles", True),
        ("/articles", "https://example.com/articles?page=2", True),
        ("/list?page=*", "https://example.com/list?page=2", True),
        ("/list?page=*", "https://example.com/list", False),
        ("/*/print", "https://example.com/a/b/print", True),
        ("/a*b*c", "https://example.com/a-b-b-c", True),
        ("/ab*bc", "https://example.com/abc", False),
        ("/a.c", "https://example.com/abc", False),
        ("/[a]", "https://example.com/a", False),
        ("https://example.com/a/*", "https://example.com/a/b", True),
        ("HTTPS://Example.COM/a/*", "https://example.com/a/b", True),
        ("https://example.com/a/*", "https://other.com/a/b", False),
        ("*/tag/*", "https://example.com/x/tag/y", True),
        ("*.example.com/*", "https://blog.example.com/y", True),
        ("/caf\u00e9/*", "https://example.com/caf%C3%A9/1", True),
        ("/caf%c3%a9/%61*", "https://example.com/caf%C3%A9/a1", True),
        ("*", "https://example.com/", True),
    ],
)
def test_patterns_are_compared_with_the_path_or_the_whole_address(pattern: str, url: str, *, matches: bool) -> None:
    refusal = scope("https://start.org/", mode="any", include=[pattern]).refuses(url, 1)
    assert refusal is (None if matches else Refusal.NOT_INCLUDED)

    refusal = scope("https://start.org/", mode="any", exclude=[pattern]).refuses(url, 1)
    assert refusal is (Refusal.EXCLUDED if matches else None)


def test_what_is_excluded_stays_so_though_it_is_included() -> None:
    given = scope(include=["/a/*"], exclude=["*/print"])

    assert given.refuses("https://example.com/a/x", 1) is None
    assert given.refuses("https://example.com/a/print", 1) is Refusal.EXCLUDED
    assert given.refuses("https://example.com/b", 1) is Refusal.NOT_INCLUDED


@given(st.lists(st.sampled_from(["a", "b", "*", "/", "."]), max_size=8), st.text("ab/.", max_size=12))
def test_a_pattern_matches_what_the_regular_expression_would(pieces: list[str], tail: str) -> None:
    text = "/" + "".join(pieces)
    expected = re.fullmatch(re.escape(text).replace(r"\*", ".*"), "/" + tail) is not None

    assert UrlPattern(text).matches(f"https://example.com/{tail}", 19) == expected


def test_a_pattern_cannot_stall_a_crawl() -> None:
    given = scope(include=["/" + "*a" * 19 + "*b"])
    began = time.process_time()
    for _ in range(100):
        given.refuses("https://example.com/" + "a" * 2000, 1)

    assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    "url, is_page",
    [
        ("https://example.com/a.html", True),
        ("https://example.com/a.php?file=b.jpg", True),
        ("https://example.com/a.js/b", True),
        ("https://example.com/v1.2", True),
        ("https://example.com/a.jpg", False),
        ("https://example.com/a.JPEG?size=2", False),
        ("https://example.com/a.tar.gz", False),
        ("https://example.com/style.css", False),
        ("https://example.com/app.mjs", False),
        ("https://example.com/font.woff2", False),
        ("https://example.com/film.mp4", False),
    ],
)
def test_files_are_suspected_by_their_names_and_refused_for_none(url: str, *, is_page: bool) -> None:
    assert is_named_as_file(url) is not is_page
    assert scope().refuses(url, 1) is None


def test_depth_and_length_are_bounded() -> None:
    given = scope(max_depth=2)

    assert given.refuses("https://example.com/x", 2) is None
    assert given.refuses("https://example.com/x", 3) is Refusal.TOO_DEEP
    assert given.refuses("https://example.com/" + "x" * 2028, 1) is None
    assert given.refuses("https://example.com/" + "x" * 2029, 1) is Refusal.TOO_LONG


@pytest.mark.parametrize("url", [START, START.replace("https", "http"), START + "/"])
def test_the_start_is_in_scope_whatever_the_rules_say(url: str) -> None:
    assert scope(exclude=["*"], include=["/nowhere"]).refuses(url, 99) is None
    assert Scope.of({"mode": "host"}, ["https://example.com/a.pdf"]).refuses("https://example.com/a.pdf", 0) is None


def test_every_start_has_a_site_of_its_own() -> None:
    given = Scope.of({}, ["https://example.com/", "https://other.org/x"])

    assert given.refuses("https://a.other.org/", 1) is None
    assert given.refuses("https://third.org/", 1) is Refusal.OUT_OF_SCOPE


@pytest.mark.parametrize(
    "rules, field",
    [
        ({"mode": "planet"}, "scope.mode"),
        ({"mode": 3}, "scope.mode"),
        ({"include": "/a/*"}, "scope.include"),
        ({"include": [1]}, "scope.include"),
        ({"include": ["/ok", "articles/*"]}, "scope.include[1]"),
        ({"include": [""]}, "scope.include[0]"),
        ({"exclude": ["/" + "x" * 500]}, "scope.exclude[0]"),
        ({"exclude": ["/" + "*x" * 21]}, "scope.exclude[0]"),
        ({"exclude": ["/a b"]}, "scope.exclude[0]"),
        ({"exclude": ["/a\ud800"]}, "scope.exclude[0]"),
        ({"exclude": ["/x"] * 101}, "scope.exclude"),
        ({"allowed_domains": ["http://x.org"]}, "scope.allowed_domains"),
        ({"allowed_domains": ["x.org/path"]}, "scope.allowed_domains"),
        ({"allowed_domains": [""]}, "scope.allowed_domains"),
        ({"max_depth": 0}, "scope.max_depth"),
        ({"max_depth": 101}, "scope.max_depth"),
        ({"max_depth": True}, "scope.max_depth"),
        ({"max_depth": "2"}, "scope.max_depth"),
        ({"depth": 2}, "scope.depth"),
    ],
)
def test_a_rule_that_cannot_be_understood_is_refused_by_name(rules: dict[str, Any], field: str) -> None:
    with pytest.raises(BadInput) as caught:
        scope(**rules)

    assert caught.value.field == field
    assert caught.value.hint


@given(
    mode=st.sampled_from(ScopeMode),
    patterns=st.lists(st.sampled_from(["/a/*", "*", "https://x.org/*", "/caf\u00e9"]), max_size=3),
    domains=st.lists(st.sampled_from(["a.org", "b.a.org"]), max_size=2),
    depth=st.integers(1, 100),
)
def test_a_scope_comes_back_from_its_document(
    mode: ScopeMode, patterns: list[str], domains: list[str], depth: int
) -> None:
    rules: dict[str, Any] = {
        "mode": mode,
        "include": patterns,
        "exclude": patterns,
        "allowed_domains": domains,
        "max_depth": depth,
    }
    given = scope(**rules)

    assert Scope.of(json.loads(json.dumps(given.document())), [START]) == given


@given(st.text(max_size=40), st.sampled_from(ScopeMode))
def test_every_address_has_an_answer(tail: str, mode: ScopeMode) -> None:
    try:
        url = canonical_url(parse_target("https://example.com" + tail))
    except BadInput:
        return
    scope(mode=mode.value, include=["/a*"], exclude=["*b*"]).refuses(url, 1)
