"""The outline of a page holds what searches find: crawls use the one, single pages the other."""

import pytest

from corral.extract.links import links_of
from corral.extract.page import OUTLINED, Page
from corral.extract.whole_text import whole_text

PAGES = (
    "<title>T</title><script src=/a.js></script><p>One <a href=/b>two</a><br><svg><a href=/c>three</a></svg>",
    "<ul><li><a href=/x rel=nofollow>x<li><a name=y src=/no>y</ul><template><p><a href=/t>t</a></template><p>p",
    "<frameset><frame src=/left.html><noframes><p><a href=/n>n</a></noframes></frameset>",
    "<body><noscript><p>n <a href=/s>s</a></noscript><style>p{}</style><map><area href=/m></map><iframe src=/f>",
    "<table>text<tr><td><p>a<table><tr><td>b</table></table><meta name=robots content=nofollow><h1>h</h1>",
    "",
)


@pytest.mark.parametrize("html", PAGES)
def test_elements_of_the_outline_are_those_of_a_search(html: str) -> None:
    plain, outlined = Page(html), Page(html)
    _ = outlined.outline

    for tag in OUTLINED:
        found, expected = outlined.elements(tag), plain.elements(tag)
        assert [node.html for node in found] == [node.html for node in expected]


@pytest.mark.parametrize("html", PAGES)
def test_links_and_text_do_not_depend_on_an_outline(html: str) -> None:
    plain, outlined = Page(html), Page(html)
    _ = outlined.outline

    assert links_of(outlined) == links_of(plain)
    assert whole_text(outlined) == whole_text(plain)


def test_an_anchor_without_href_is_no_link() -> None:
    assert links_of(Page(PAGES[1])).references == ("/x",)
