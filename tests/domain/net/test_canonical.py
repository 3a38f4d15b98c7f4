import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corral.domain.errors import BadInput
from corral.domain.net.canonical import canonical_url, link_to, links_to, url_key
from corral.domain.net.url import Target, parse_target

SAME = {
    "https://example.com/a": [
        "https://EXAMPLE.com/a",
        "https://example.com:443/a",
        "http://example.com/a",
        "http://example.com:80/a",
        "https://example.com/a#top",
        "https://example.com/a?",
        "https://example.com/a?&",
        "https://example.com/b/../a",
        "https://example.com/%61",
        "https://example.com/a?utm_source=x&utm_medium=y",
        "https://example.com/a?gclid=1&fbclid=2&msclkid=3",
        "https://example.com/a?sid=9f86d081884c7d659a2f",
        "https://example.com/a?PHPSESSID=rqvdqh1gkr5vj0c1v4v1i4t2p1",
        "https://example.com/a;jsessionid=9F86D081884C7D659A2F",
        "https://example.com/a;JSESSIONID=9F86D081884C7D659A2F?utm_id=1",
        "https://example.com/b/..%2fa",
        "https://example.com/b/c/..%2F..%2Fa",
    ],
    "https://example.com/": ["https://example.com", "https://example.com/?#"],
    "https://example.com/p?a=1&b=2": [
        "https://example.com/p?b=2&a=1",
        "https://example.com/p?b=2&&a=1&utm_term=x",
        "https://example.com/p?b=2&sessionid=9f86d081884c7d659a2f&a=1",
    ],
    "https://example.com/s?q=a%20b": ["https://example.com/s?q=a+b", "https://example.com/s?q=%61%20b"],
    "https://example.com/caf%C3%A9": ["https://example.com/caf\u00e9", "https://example.com/caf%c3%a9"],
}
DIFFERENT = [
    ("https://example.com/a", "https://example.com/A"),
    ("https://example.com/a", "https://www.example.com/a"),
    ("https://example.com/a", "https://example.com:8443/a"),
    ("https://example.com/a", "http://example.com:443/a"),
    ("https://example.com/?a=1", "https://example.com/?a=2"),
    ("https://example.com/?a=1&a=2", "https://example.com/?a=2&a=1"),
    ("https://example.com/?a", "https://example.com/"),
    ("https://example.com/a%2Fb", "https://example.com/a/b"),
    ("https://example.com/?q=a%26b", "https://example.com/?q=a&b"),
    ("https://example.com/?q=a%2Bb", "https://example.com/?q=a+b"),
    ("https://example.com/?siding=1", "https://example.com/"),
    ("https://example.com/a;sidebar=1", "https://example.com/aebar=1"),
    ("https://example.com/a", "https://example.com/a/"),
    ("https://example.com/", "https://example.com//"),
    ("https://example.com/story?sid=7", "https://example.com/story?sid=8"),
    ("https://example.com/story?sid=getting-started-with-python3", "https://example.com/story?sid=other-page-2026"),
    ("https://example.com/a;sid=7", "https://example.com/a"),
]


@pytest.mark.parametrize("first, second", [(url, each) for url, others in SAME.items() for each in others])
def test_variants_of_an_address_are_one_item(first: str, second: str) -> None:
    assert url_key(parse_target(first)) == url_key(parse_target(second))


@pytest.mark.parametrize("first, second", DIFFERENT)
def test_what_may_be_two_pages_is_two_items(first: str, second: str) -> None:
    assert url_key(parse_target(first)) != url_key(parse_target(second))


@pytest.mark.parametrize(
    "given, canonical",
    [
        ("https://example.com/a?utm_source=x#y", "https://example.com/a?utm_source=x"),
        ("http://example.com:80/%7euser/%e2%82%ac", "http://example.com/~user/%E2%82%AC"),
        ("https://example.com/a/?b=%2f%61", "https://example.com/a/?b=%2Fa"),
        ("https://example.com/100%/%61", "https://example.com/100%/%61"),
        ("https://example.com/a;jsessionid=1", "https://example.com/a;jsessionid=1"),
    ],
)
def test_what_is_fetched_is_what_was_written_in_one_spelling(given: str, canonical: str) -> None:
    assert canonical_url(parse_target(given)) == canonical


@pytest.mark.parametrize("number", range(256))
def test_every_escape_has_one_spelling(number: int) -> None:
    char = chr(number)
    is_unreserved = char.isascii() and (char.isalnum() or char in "-._~")
    spelled = {canonical_url(parse_target(f"https://x/?a%{form}b")) for form in (f"{number:02x}", f"{number:02X}")}

    assert spelled == {f"https://x/?a{char if is_unreserved else f'%{number:02X}'}b"}


BASES = [
    parse_target(url)
    for url in (
        "https://example.com/",
        "https://example.com/docs/a/index.html?x=1",
        "http://example.com:8080/a%20b/c%7Ed/e",
        "http://127.0.0.1:8000//x//y",
        "http://[::1]:81/100%/x",
        "https://example.com/caf%c3%a9/",
        "https://example.com/" + "long/" * 400,
    )
]
_PATHS = "/ // . .. ./ ../ ? # & = ; : @ % %2e %2E%2e %2f %61 %zz a b.html c-d A 1 ~u e(f) \\ é ü%20 *,!$'()"
_ORIGINS = "http: https: HTTP:// http:// https:// //example.com example.com EXAMPLE.com 127.0.0.1 [::1] http://u@h/"
_PORTS = ":80 :443 :8080 :99999 mailto:x javascript: utm_source=x sid=2 q=a+b"
_SESSIONS = "sid=9f86d081884c7d659a2f ;jsessionid=9f86d081884c7d659a2f ;sid=9f86d081884c7d659a2f"
_SPACES = [" ", "\t", "\n", "", "\u200b", "\u3002"]
PIECES = st.sampled_from([*" ".join((_PATHS, _ORIGINS, _PORTS, _SESSIONS)).split(), *_SPACES])
REFERENCES = st.one_of(st.lists(PIECES, max_size=8).map("".join), st.text(max_size=20))


@given(base=st.sampled_from(BASES), references=st.lists(REFERENCES, max_size=4))
@example(base=BASES[1], references=["../x.html#y", "/z", "?b=2", "#top", "", "https://example.com?q", "g.html"])
@example(
    base=BASES[1],
    references=["https://example.com", "http://1.2/x", "http://a..b/", "#a\\b", "x #y", "a" * 400, "a" * 9000],
)
@example(
    base=BASES[3],
    references=["../../x", "x", "..", "../", "../..", "..//x", "../?q", "../.", "../a:b", "//", "//h", "/.//x"],
)
def test_the_short_way_ends_where_the_strict_parser_does(base: Target, references: list[str]) -> None:
    assert links_to(base, references) == [link_to(base, reference) for reference in references]


@given(base=st.sampled_from(BASES), reference=REFERENCES)
def test_a_canonical_address_is_its_own_canonical_address(base: Target, reference: str) -> None:
    link = link_to(base, reference)
    if link is None:
        return
    again = parse_target(link.url, max_chars=100_000)

    assert canonical_url(again) == link.url
    assert url_key(again) == link.key


@given(base=st.sampled_from(BASES), reference=REFERENCES)
@example(base=BASES[2], reference=";jsessionid=9f86d081884c7d659a2f%")
@example(base=BASES[0], reference="/a/..;sid=9f86d081884c7d659a2f/b")
@example(base=BASES[0], reference="/%zz/%2e%2e;sid=9f86d081884c7d659a2f/b")
@example(base=BASES[0], reference="/?sid=%&b=%61")
def test_a_key_is_its_own_key(base: Target, reference: str) -> None:
    link = link_to(base, reference)
    if link is None:
        return
    try:
        again = parse_target("https:" + link.key, max_chars=100_000)
    except BadInput:
        pytest.fail(f"{link.key} is no address")
    assert url_key(again) == link.key
