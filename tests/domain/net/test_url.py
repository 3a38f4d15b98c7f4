import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import BadInput
from corral.domain.net.url import BadScheme, join, parse_target

ORDINARY = {
    "http://example.com": "http://example.com/",
    "HTTP://EXAMPLE.com/": "http://example.com/",
    "https://example.com:443/a": "https://example.com/a",
    "http://example.com:80": "http://example.com/",
    "https://example.com:8443/": "https://example.com:8443/",
    "http://example.com./": "http://example.com/",
    "https://www.example.co.uk/a/b/c.html": "https://www.example.co.uk/a/b/c.html",
    "https://example.com/?q=a+b&c=%20": "https://example.com/?q=a+b&c=%20",
    "https://example.com?q=1": "https://example.com/?q=1",
    "https://example.com#top": "https://example.com/#top",
    "https://example.com/#/route/1": "https://example.com/#/route/1",
    "https://example.com/a/../b": "https://example.com/b",
    "https://example.com/a/./b/.": "https://example.com/a/b/",
    "https://example.com/../../b": "https://example.com/b",
    "https://example.com/a/%2e%2E/b": "https://example.com/b",
    "https://example.com/a//b": "https://example.com/a//b",
    "https://example.com/caf\u00e9": "https://example.com/caf%C3%A9",
    "https://example.com/\u65e5\u672c?q=\u8a9e": "https://example.com/%E6%97%A5%E6%9C%AC?q=%E8%AA%9E",
    "https://m\u00fcnchen.de/": "https://xn--mnchen-3ya.de/",
    "https://M\u00dcNCHEN.DE/": "https://xn--mnchen-3ya.de/",
    "https://xn--mnchen-3ya.de/": "https://xn--mnchen-3ya.de/",
    "https://stra\u00dfe.de/": "https://xn--strae-oqa.de/",
    "https://\u4f8b\u3048.jp/": "https://xn--r8jz45g.jp/",
    "https://\u4f8b\u3048\u3002jp/": "https://xn--r8jz45g.jp/",
    "https://a_b.example.com/": "https://a_b.example.com/",
    "https://a--b.example.com/": "https://a--b.example.com/",
    "https://1.example.com/": "https://1.example.com/",
    "https://123.com/": "https://123.com/",
    "https://8.8.8.8/": "https://8.8.8.8/",
    "http://134744072/": "http://8.8.8.8/",
    "http://0x8080808/": "http://8.8.8.8/",
    "http://010.8.8.8/": "http://8.8.8.8/",
    "http://8.8.2056/": "http://8.8.8.8/",
    "http://[2606:4700::1111]/": "http://[2606:4700::1111]/",
    "http://[2606:4700:0:0:0:0:0:1111]:8080/a": "http://[2606:4700::1111]:8080/a",
    "https://example.com/a|b": "https://example.com/a%7Cb",
    'https://example.com/"x"': "https://example.com/%22x%22",
    "https://example.com/a@b": "https://example.com/a@b",
    "https://example.com/a:b": "https://example.com/a:b",
    "https://example.com/?url=http://x@y/": "https://example.com/?url=http://x@y/",
    "https://example.com/%zz": "https://example.com/%zz",
    "https://example.com/a;b=1,2": "https://example.com/a;b=1,2",
    "https://example.com/?a[]=1": "https://example.com/?a[]=1",
    "https://example.com/?": "https://example.com/?",
    "https://user.github.io/repo/": "https://user.github.io/repo/",
    "https://localhost.example.com/": "https://localhost.example.com/",
    "https://shop.example/p?id=1&id=2": "https://shop.example/p?id=1&id=2",
    "http://single-label/": "http://single-label/",
    "https://example.com/wiki/Foo_(bar)": "https://example.com/wiki/Foo_(bar)",
    "https://example.com/~user/": "https://example.com/~user/",
}
REFUSED = (
    "example.com",
    "//example.com/",
    "/path",
    "http:",
    "http:/",
    "http://",
    "http:///path",
    "http://:80/",
    "http:example.com",
    "ftp://example.com/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "http://user@example.com/",
    "http://user:pass@example.com/",
    "http://@example.com/",
    "http://a\\b/",
    "http://example.com\\@evil.com/",
    "http://example.com/a\\b",
    " http://example.com/",
    "http://example.com/ ",
    "http://exa mple.com/",
    "http://example.com/a b",
    "http://example.com/\t",
    "http://exam\nple.com/",
    "http://example.com/\x00",
    "http://example.com/\x7f",
    "http://example.com/\u2003",
    "http://example.com/\ud800",
    "http://example.com:0/",
    "http://example.com:65536/",
    "http://example.com:/",
    "http://example.com:8o/",
    "http://example.com:-1/",
    "http://example.com:\u0661/",
    "http://example.com:80:80/",
    "http://a..b/",
    "http://.a/",
    "http://a../",
    "http://-a.com/",
    "http://a-.com/",
    "http://a%41.com/",
    "http://a\uff05.com/",
    "http://a\uff0fb.com/",
    "http://a\uff20b.com/",
    "http://256.1.1.1/",
    "http://1.2.3.4.5/",
    "http://4294967296/",
    "http://0xg.1/",
    "http://a.1/",
    "http://08.8.8.8/",
    "http://[::1/",
    "http://::1/",
    "http://[::1]a/",
    "http://[::g]/",
    "http://[fe80::1%eth0]/",
    "http://[127.0.0.1]/",
    "http://" + "a" * 64 + ".com/",
    "http://" + "a." * 127 + "com/",
    "http://xn--\u0661.com/",
    "http://example.com/" + "a" * 2048,
    "",
)


@pytest.mark.parametrize("written, canonical", ORDINARY.items())
def test_an_ordinary_url_is_brought_into_one_form(written: str, canonical: str) -> None:
    target = parse_target(written)
    assert target.url == canonical
    assert parse_target(target.url) == target


@pytest.mark.parametrize("text", REFUSED)
def test_what_can_be_misread_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_target(text, field="url")
    assert caught.value.code == "bad_url"
    assert caught.value.field == "url"
    assert caught.value.hint


@pytest.mark.parametrize(
    "written, host",
    [
        ("http://①②⑦.⓪.⓪.①/", "127.0.0.1"),
        ("http://0/", "0.0.0.0"),
        ("http://127.1/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://0177.0.0.01/", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://127\u3002\uff10.0.1/", "127.0.0.1"),
        ("http://[::FFFF:127.0.0.1]/", "::ffff:7f00:1"),
    ],
)
def test_a_number_in_any_spelling_is_an_address(written: str, host: str) -> None:
    target = parse_target(written)
    assert target.is_literal_ip
    assert target.host in (host, "::ffff:127.0.0.1")


def test_the_fragment_is_kept_for_browsers_and_not_sent() -> None:
    target = parse_target("https://example.com/a?b#c")
    assert target.url == "https://example.com/a?b#c"
    assert target.request_url == "https://example.com/a?b"


@pytest.mark.parametrize(
    "reference, expected",
    [
        ("/x", "https://example.com/x"),
        ("x", "https://example.com/a/x"),
        ("../x", "https://example.com/x"),
        ("?q", "https://example.com/a/b?q"),
        ("#f", "https://example.com/a/b?old#f"),
        ("//other.com/x", "https://other.com/x"),
        ("http://other.com", "http://other.com/"),
        (" /a b ", "https://example.com/a%20b"),
    ],
)
def test_a_reference_is_seen_from_its_page(reference: str, expected: str) -> None:
    assert join(parse_target("https://example.com/a/b?old"), reference).url == expected


@pytest.mark.parametrize("reference", ["file:///x", "javascript:x", "data:,x", "mailto:a@b"])
def test_a_reference_to_another_scheme_says_so(reference: str) -> None:
    with pytest.raises(BadScheme):
        join(parse_target("https://example.com/"), reference)


@given(st.text(max_size=60), st.sampled_from(["", "http://", "https://", "http://example.com"]))
def test_any_text_is_parsed_or_refused_and_what_is_parsed_is_stable(text: str, before: str) -> None:
    try:
        target = parse_target(before + text)
    except BadInput:
        return
    assert target.url.isascii()
    assert parse_target(target.url) == target
    assert not set(target.host) & set("/\\@?#[]% ")
