import pytest

from corral.domain.errors import BadInput
from corral.domain.net.url import parse_target
from corral.domain.sites.session import parse_session
from corral.domain.sites.session_text import cookies_of_text

FILE = """# Netscape HTTP Cookie File
# https://curl.se/docs/http-cookies.html

.a.test\tTRUE\t/\tFALSE\t0\tlang\ten
#HttpOnly_a.test\tFALSE\t/account\tTRUE\t4000000000\tsid\tone two
"""


def cookie_header(url: str, text: str) -> str | None:
    state = parse_session("https://a.test/", cookies_of_text(text))
    return state.headers_for(parse_target(url), 1_700_000_000).get("cookie")


def test_each_cookie_of_a_file_goes_where_it_belongs() -> None:
    assert cookie_header("https://a.test/account", FILE) == "sid=one two; lang=en"
    assert cookie_header("http://a.test/account", FILE) == "lang=en"
    assert cookie_header("https://sub.a.test/account", FILE) == "lang=en"
    assert cookies_of_text(FILE)[1]["httpOnly"] is True


@pytest.mark.parametrize("text", ["sid=one; lang=en", "Cookie: sid=one; lang=en\n", " sid=one ;lang=en; "])
def test_the_line_of_a_request_is_for_the_target(text: str) -> None:
    assert cookie_header("https://a.test/", text) == "sid=one; lang=en"
    assert cookie_header("https://sub.a.test/", text) is None


@pytest.mark.parametrize(
    "text", ["", "canary", "a=1\nb=2", "# a=1", "a=1; canary", "a.test\tTRUE\t/\tFALSE\tsoon\tn\tcanary"]
)
def test_what_is_neither_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        cookies_of_text(text)
    assert "canary" not in str(refused.value)
