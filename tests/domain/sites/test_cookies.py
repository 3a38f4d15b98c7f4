import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.net.url import parse_target
from corral.domain.sites.cookies import RunCookies

NOW = 1_700_000_000.0
SHOP = parse_target("https://www.shop.test/a/b")


def cookie_header(jar: RunCookies, url: str, given: str = "") -> str:
    return jar.header_for(parse_target(url), NOW, given)


def fill_jar(*lines: str, url: str = "https://www.shop.test/a/b") -> RunCookies:
    jar = RunCookies()
    jar.take(parse_target(url), lines, NOW)
    return jar


@pytest.mark.parametrize(
    "line, url, expected",
    [
        ("sid=1", "https://www.shop.test/a/c", "sid=1"),
        ("sid=1", "https://www.shop.test/other", ""),
        ("sid=1; Path=/", "https://www.shop.test/other", "sid=1"),
        ("sid=1; Path=/", "https://shop.test/", ""),
        ("sid=1; Path=/; Domain=shop.test", "https://shop.test/", "sid=1"),
        ("sid=1; Path=/; Domain=.shop.test", "https://api.shop.test/", "sid=1"),
        ("sid=1; Path=/; Domain=shop.test", "https://evilshop.test/", ""),
        ("sid=1; Path=/; Domain=test", "https://www.shop.test/", ""),
        ("sid=1; Path=/; Domain=other.test", "https://other.test/", ""),
        ("sid=1; Path=/; Secure", "https://www.shop.test/", "sid=1"),
        ("sid=1; Path=/; Secure", "http://www.shop.test/", ""),
        ("sid=1; Path=/; Max-Age=0", "https://www.shop.test/", ""),
        ("sid=1; Path=/; Max-Age=60", "https://www.shop.test/", "sid=1"),
        ("sid=1; Path=/; Expires=Thu, 01-Jan-1970 00:00:00 GMT", "https://www.shop.test/", ""),
        ("sid=1; Path=/; Expires=nonsense", "https://www.shop.test/", "sid=1"),
        ("=1; Path=/", "https://www.shop.test/", ""),
        ("sid; Path=/", "https://www.shop.test/", ""),
        ("sid=ü; Path=/", "https://www.shop.test/", ""),
        ("sid=a\tb; Path=/", "https://www.shop.test/", ""),
        (f"sid={'x' * 5000}; Path=/", "https://www.shop.test/", ""),
    ],
)
def test_a_cookie_goes_to_whom_it_is_for(line: str, url: str, expected: str) -> None:
    assert cookie_header(fill_jar(line), url) == expected


@pytest.mark.parametrize(
    "host, domain, other, is_sent",
    [
        ("shop.co.uk", "co.uk", "https://bank.co.uk/", False),
        ("me.github.io", "github.io", "https://you.github.io/", False),
        ("www.city.kobe.jp", "kobe.jp", "https://www.kobe.jp/", False),
        ("www.xn--55qx5d.cn", "xn--55qx5d.cn", "https://www.xn--55qx5d.cn/", False),
        ("www.shop.co.uk", "shop.co.uk", "https://api.shop.co.uk/", True),
        # A host that is a public suffix keeps the cookie for itself.
        ("github.io", "github.io", "https://github.io/", True),
        ("github.io", "github.io", "https://you.github.io/", False),
    ],
)
def test_a_cookie_for_a_public_suffix_is_refused(host: str, domain: str, other: str, is_sent: bool) -> None:
    jar = fill_jar(f"sid=1; Path=/; Domain={domain}", url=f"https://{host}/")
    assert cookie_header(jar, other) == ("sid=1" if is_sent else "")


def test_an_insecure_page_sets_no_secure_cookie() -> None:
    assert cookie_header(fill_jar("sid=1; Path=/; Secure", url="http://www.shop.test/"), "https://www.shop.test/") == ""


def test_newer_values_replace_those_of_the_session() -> None:
    jar = fill_jar("sid=new; Path=/", "b=2; Path=/")
    assert cookie_header(jar, "https://www.shop.test/", "a=1; sid=old") == "a=1; sid=new; b=2"
    assert cookie_header(RunCookies(), "https://www.shop.test/", "a=1") == "a=1"


def test_a_cookie_is_taken_back() -> None:
    jar = fill_jar("sid=1; Path=/")
    jar.take(SHOP, ["sid=; Path=/; Max-Age=0"], NOW)
    assert cookie_header(jar, "https://www.shop.test/") == ""


def test_only_a_change_raises_the_version() -> None:
    jar = fill_jar("sid=1; Path=/")
    before = jar.version
    jar.take(SHOP, ["sid=1; Path=/", "gone=; Max-Age=0"], NOW)
    assert jar.version == before
    jar.take(SHOP, ["sid=2; Path=/"], NOW)
    assert jar.version == before + 1


def test_a_host_sets_no_more_than_its_share() -> None:
    jar = fill_jar(*(f"c{number}=1; Path=/" for number in range(5000)))
    assert len(cookie_header(jar, "https://www.shop.test/").split("; ")) == 50


@given(st.lists(st.text(max_size=60), max_size=5))
def test_no_line_makes_it_fail_or_breaks_out_of_the_header(lines: list[str]) -> None:
    header = cookie_header(fill_jar(*lines), "https://www.shop.test/a/b")
    assert header.isascii()
    assert header == "" or header.isprintable()
