import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.extract.links import (
    Directives,
    Refresh,
    directives_of,
    find_routes,
    header_directives,
    links_of,
    refresh_of,
)
from corral.extract.page import Page


def test_links_come_in_the_order_of_the_page_each_once() -> None:
    page = Page(
        """<a href="/b">x</a><map><area href="/a"></map><a href="/b#part">again</a><a href=" c d ">y</a>
        <a href="/e\n/f">broken line</a><a name="anchor">no link</a><a href>empty</a><a href="">empty</a>""",
        "https://example.com/x",
    )
    assert links_of(page).references == ("/b", "/a", "c d", "/e/f")


def test_frames_are_links() -> None:
    framed = Page("<html><frameset><frame src='/menu'><frame src='/main'></frameset></html>")

    assert links_of(framed).references == ("/menu", "/main")
    assert links_of(Page("<iframe src='/inside'></iframe><IFRAME src='about:blank'>")).references == ("/inside",)


def test_links_of_pictures_are_links() -> None:
    picture = "<svg><a xlink:href='/b'><text>x</text></a></svg>"
    assert links_of(Page(f"<a href=/a>x</a>{picture}<a>no link</a>")).references == ("/a", "/b")
    assert links_of(Page(f"<iframe src=/frame></iframe>{picture}")).references == ("/frame", "/b")


def test_links_to_views_inside_a_page_are_found_and_dummies_are_not() -> None:
    written = ("#/a", "#!/b?c", "#/a", "#!", "#/", "#section", "/page#/a")
    page = Page("".join(f"<a href='{each}'>x</a>" for each in written))
    assert find_routes(page) == ["#/a", "#!/b?c"]


@pytest.mark.parametrize(
    "content, expected",
    [
        ("0;url=/there", (0, "/there")),
        ("0; URL='/there'", (0, "/there")),
        (' 5.5 , url = "/there" ', (5, "/there")),
        ("3 /there", (3, "/there")),
        ("0;url=/there?a=b;c", (0, "/there?a=b;c")),
        ("30", None),
        ("0;url=", None),
        ("0;url=javascript:x()", None),
        ("soon;url=/there", None),
    ],
)
def test_a_refresh_is_read_as_browsers_do(content: str, expected: tuple[float, str] | None) -> None:
    assert refresh_of(content) == (None if expected is None else Refresh(*expected))


def test_a_refresh_for_browsers_without_scripts_is_a_link() -> None:
    page = Page("<noscript><meta http-equiv=refresh content='0;url=/plain'></noscript><a href=/a>x</a>")
    assert (links_of(page).refresh, links_of(page).references) == (None, ("/a", "/plain"))
    page = Page("<meta HTTP-EQUIV=Refresh content='0;url=/there'>")
    assert links_of(page).refresh == Refresh(0, "/there")


@pytest.mark.parametrize(
    "values, expected",
    [
        (["noindex"], (True, False)),
        (["NoIndex, NoFollow"], (True, True)),
        (["none"], (True, True)),
        (["googlebot: noindex"], (False, False)),
        (["Corral: noindex"], (True, False)),
        (["googlebot: noindex, nofollow", "nofollow"], (False, True)),
        (["googlebot: noindex, corral: nofollow"], (False, True)),
        (["*: noindex"], (True, False)),
        (["unavailable_after: 25 Jun 2030 15:00:00 PST, noindex"], (True, False)),
        (["max-snippet: 20"], (False, False)),
    ],
)
def test_headers_speak_to_every_robot_or_to_the_one_they_name(values: list[str], expected: tuple[bool, bool]) -> None:
    assert header_directives(values, "Corral/0.1 (+https://example.com)") == Directives(*expected)


@pytest.mark.parametrize(
    "href",
    ["#top", "javascript:void(0)", " JavaScript:x()", "mailto:a@b.c", "tel:1", "data:text/html,x", "java\nscript:x"],
)
def test_what_leads_to_no_page_is_left_out(href: str) -> None:
    assert links_of(Page(f'<a href="{href}">x</a>')).references == ()


def test_a_link_is_nofollow_where_no_other_link_to_the_same_place_may_be_followed() -> None:
    page = Page(
        """<a href="/a" rel="nofollow">x</a><a href="/b" rel="NoFollow noopener">x</a><a href="/b">x</a>
        <a href="/c">x</a><a href="/c" rel=nofollow>x</a><a href="/d" rel="nofollowed">x</a>"""
    )
    assert links_of(page).nofollow == {"/a"}


def test_links_beyond_the_limit_are_counted() -> None:
    html = (
        "".join(f"<a href='/{number}'>x</a>" for number in range(30)) + "<a href='/29'>again</a><a href='/0'>again</a>"
    )
    links = links_of(Page(html), limit=10)

    assert links.references == tuple(f"/{number}" for number in range(10))
    assert links.dropped == 20


def test_the_base_the_canonical_address_and_the_directives_are_told() -> None:
    html = """<head><base href="/docs/"><link rel="stylesheet" href="x.css"><link rel="Canonical" href=" /original ">
        <meta name="ROBOTS" content="NoIndex, follow"></head><body><a href="a">x</a>"""
    links = links_of(Page(html, "https://example.com/a/b"))

    assert links.base_url == "https://example.com/docs/"
    assert links.canonical == "/original"
    assert links.directives == Directives(noindex=True, nofollow=False)


def test_a_page_that_says_nothing_asks_nothing() -> None:
    links = links_of(Page("<meta name=description content=noindex><p>nofollow</p>", "https://example.com/a"))

    assert links.base_url == "https://example.com/a"
    assert links.canonical is None
    assert links.directives == Directives()


@pytest.mark.parametrize(
    "text, expected",
    [
        ("noindex", Directives(noindex=True)),
        ("index, nofollow", Directives(nofollow=True)),
        ("none", Directives(noindex=True, nofollow=True)),
        ("NOINDEX,NOFOLLOW", Directives(noindex=True, nofollow=True)),
        ("max-snippet:-1", Directives()),
        ("", Directives()),
    ],
)
def test_directives_are_read_from_elements_and_headers_alike(text: str, expected: Directives) -> None:
    assert directives_of(text) == expected


def test_the_strictest_of_several_directives_holds() -> None:
    html = "<meta name=robots content=noindex><meta name=robots content=nofollow>"
    assert links_of(Page(html)).directives == Directives(noindex=True, nofollow=True)


@given(st.text(max_size=200))
def test_any_text_has_links_or_none(html: str) -> None:
    links = links_of(Page(f"<a href='{html}'>{html}</a>{html}"))
    assert len(set(links.references)) == len(links.references)
    assert all(links.references)
