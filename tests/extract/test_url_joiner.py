"""References are joined as `urllib` joins them, whichever way is taken."""

from hypothesis import example, given
from hypothesis import strategies as st

from corral.extract.url_joiner import UrlJoiner, join_url

BASES = (
    *(
        "http://a.test",
        "https://a.test/b/c.html?d=/e/#f",
        "http://a.test/b//c/",
        "http://a.test/b/../c",
        "HTTP://A.test/x",
    ),
    *("http://a.test?q", "http://u:p@a.test:8080/x/y", "", "b/c", "file:///b/c", "http://[bad", "http://a.test/x;p/y"),
)


@given(st.sampled_from(BASES), st.text(st.sampled_from("ab1/.?#;:%& [@\t\nä"), max_size=8))
@example("http://a.test/b", "/c/d.html?e=f#g")
@example("http://a.test/b/c", "d/e.html")
@example("http://a.test/b/c", "..d/e")
@example("http://a.test", "d")
@example("http://a.test/b/c/d", "../../../e")
@example("http://a.test/b/c/d", "../../_e")
def test_joining_is_that_of_urllib(base: str, reference: str) -> None:
    assert UrlJoiner(base).join(reference) == join_url(base, reference)
