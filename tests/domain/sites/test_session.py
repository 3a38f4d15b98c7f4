import json
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import BadInput
from corral.domain.net.url import parse_target
from corral.domain.redaction import find_secrets, redact
from corral.domain.secret import Secret, without
from corral.domain.sites.session import Cookie, SessionState, parse_session
from corral.store.rows import to_json

NOW = 1_800_000_000.0


def cookie_header(url: str, **cookie: object) -> str | None:
    state = parse_session("https://shop.example.test/account", [{"name": "sid", "value": "v", **cookie}])
    return state.headers_for(parse_target(url), NOW).get("cookie")


@pytest.mark.parametrize(
    "cookie, url, is_sent",
    [
        ({}, "https://shop.example.test/", True),
        ({}, "https://shop.example.test:8443/x", True),  # cookies know no ports
        ({}, "https://example.test/", False),
        ({}, "https://a.shop.example.test/", False),  # that host alone
        ({"domain": ".example.test"}, "https://a.shop.example.test/", True),
        ({"domain": ".example.test"}, "https://example.test/", True),
        ({"domain": ".example.test"}, "https://badexample.test/", False),
        ({"domain": ".example.test"}, "https://example.test.evil.org/", False),
        ({"domain": "EXAMPLE.test"}, "https://example.test/", True),
        ({"domain": "10.0.0.1"}, "http://10.0.0.1/", True),
        ({"domain": "0.0.1"}, "http://10.0.0.1/", False),
        ({"path": "/a"}, "https://shop.example.test/a", True),
        ({"path": "/a"}, "https://shop.example.test/a/b", True),
        ({"path": "/a"}, "https://shop.example.test/ab", False),
        ({"path": "/a/"}, "https://shop.example.test/a", False),
        ({"secure": True}, "https://shop.example.test/", True),
        ({"secure": True}, "http://shop.example.test/", False),
        ({"expires": NOW + 1}, "https://shop.example.test/", True),
        ({"expires": NOW - 1}, "https://shop.example.test/", False),
        ({"expires": -1}, "https://shop.example.test/", True),
    ],
)
def test_a_cookie_goes_where_rfc_6265_says(cookie: dict[str, object], url: str, is_sent: bool) -> None:
    assert cookie_header(url, **cookie) == ("sid=v" if is_sent else None)


def test_a_stored_cookie_for_a_public_suffix_goes_to_no_host_below_it() -> None:
    stored = SessionState((Cookie("sid", Secret("v"), ".co.uk"),))
    state = SessionState.deserialize(stored.serialize())
    assert state.headers_for(parse_target("https://shop.co.uk/"), NOW) == {}


def test_longer_paths_come_first() -> None:
    cells = [{"name": "a", "value": "1"}, {"name": "b", "value": "2", "path": "/x"}]
    state = parse_session("https://example.test/", cells)
    assert state.headers_for(parse_target("https://example.test/x"), NOW)["cookie"] == "b=2; a=1"


def test_headers_go_to_the_origin_of_the_job_alone() -> None:
    state = parse_session(
        "https://example.test/",
        [{"name": "a", "value": "b", "domain": "other.test"}],
        headers={"Authorization": "Bearer t"},
    )
    assert state.headers_for(parse_target("https://example.test/a"), NOW) == {"authorization": "Bearer t"}
    for other in ("http://example.test/", "https://example.test:444/", "https://www.example.test/"):
        assert state.headers_for(parse_target(other), NOW) == {}


@pytest.mark.parametrize(
    "cookie",
    [
        {"name": "", "value": "canary-1"},
        {"name": "a;b", "value": "canary-1"},
        {"name": "a", "value": "canary-1\r\nx: y"},
        {"name": "a", "value": "canary-1", "domain": ".test"},
        {"name": "a", "value": "canary-1", "domain": ".co.uk"},
        {"name": "a", "value": "canary-1", "domain": "a b"},
        {"name": "a", "value": "canary-1", "domain": "example.test:80:80"},
        {"name": "a", "value": "canary-1", "sameSite": "sometimes"},
        {"name": "a", "value": 5},
    ],
)
def test_what_cannot_be_sent_is_refused_without_being_quoted(cookie: dict[str, object]) -> None:
    with pytest.raises(BadInput) as refused:
        parse_session("https://example.test/", [cookie])
    assert refused.value.field is not None
    assert refused.value.field.startswith("cookies.0")
    assert "canary-1" not in str(refused.value)


@pytest.mark.parametrize("name", ["cookie", "Host", "bad name", ""])
def test_some_headers_are_not_part_of_a_session(name: str) -> None:
    with pytest.raises(BadInput):
        parse_session("https://example.test/", [], headers={name: "x"})


def test_an_empty_session_is_none() -> None:
    with pytest.raises(BadInput, match="empty"):
        parse_session("https://example.test/", [])


def test_what_is_told_of_a_session_has_none_of_its_values() -> None:
    state = parse_session(
        "https://example.test/", [{"name": "sid", "value": "canary-1"}], {"https://a.test": {"k": "canary-2"}}
    )
    assert sorted(state.secrets()) == ["canary-1", "canary-2"]
    assert "canary" not in f"{state!r} {state.about()}"
    assert SessionState.deserialize(state.serialize()) == state


# -- secrets -----------------------------------------------------------------------------------------


def test_a_secret_shows_nothing_however_it_is_written() -> None:
    secret = Secret("canary-1")
    written = [
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret:>20}",
        json.dumps(secret, default=str),
        to_json([secret]),
    ]
    assert not any("canary" in text for text in written)
    assert written[0] == "***"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert secret == Secret("canary-1") != Secret("other")
    assert secret.reveal() == "canary-1"


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_secret_is_cut_out_of_every_text(before: str, after: str) -> None:
    cleaned = without({"message": [before + "canary-1" + after], "canary-1": 1}, ["canary-1", "1"])
    assert "canary-1" not in str(cleaned)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("http://h/?token=abc", "http://h/?token=***"),
        ("http://h/?a=1&api_key=abc&b=2", "http://h/?a=1&api_key=***&b=2"),
        ("http://h/?X-Amz-Signature=abc#x", "http://h/?X-Amz-Signature=***#x"),
        ("see http://h/p?access_token=a, then", "see http://h/p?access_token=*** then"),
        ("http://h/#session=abc", "http://h/#session=***"),
        ("http://h/?user[password]=abc", "http://h/?user[password]=***"),
        ("http://h/?next=http://i/?token=a?b&c=d", "http://h/?next=http://i/?token=***&c=d"),
        ("http://h/?sid=a#sid=b;sid=c", "http://h/?sid=***#sid=***;sid=***"),
        ("postgresql://user:hunter2@host/db", "postgresql://***@host/db"),
        ("redis://:hunter2@host", "redis://***@host"),
        ("http://h/?monkey=1&page=2&tokens=3", "http://h/?monkey=1&page=2&tokens=3"),
        ("a@b = c", "a@b = c"),
        ("http://h/@user?x=1", "http://h/@user?x=1"),
    ],
)
def test_addresses_lose_their_secrets(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_the_secrets_of_an_address_can_be_had_to_look_for_them() -> None:
    assert find_secrets("http://h/?token=a%20b&page=2&next=http://i/?sid=c") == ["a%20b", "c", "a b"]


@pytest.mark.parametrize("text", ["?" + "_" * 8000, "?" + "a_" * 4000, "?token" * 4000, "a." * 8000, "://" * 8000])
def test_no_text_takes_long_to_mask(text: str) -> None:
    """Pages choose what stands in their addresses."""
    started = time.process_time()
    redact(f"{text}=://a@")
    assert time.process_time() - started < 0.2
