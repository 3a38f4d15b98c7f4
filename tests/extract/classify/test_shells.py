import pytest

from corral.domain.fields.spec import FieldSpec
from corral.extract.classify.shells import is_application_shell, is_shell_page, loads_more
from corral.extract.page import Page

TITLE, PRICE = FieldSpec("title"), FieldSpec("price")
ARTICLE = "<p>" + "Words that a reader came for. " * 20 + "</p>"


@pytest.mark.parametrize(
    "html",
    [
        "<title>App</title><div id=root></div><script src=/static/js/main.1a2b.js></script>",
        "<title>App</title><div id=__next></div>",
        "<title>App</title><app-root></app-root>",
        "<title>App</title><body><noscript>You need to enable JavaScript to run this app.</noscript><script></script>",
        # The marks stand far from the start: the whole document is looked at.
        f"<title>App</title><!--{'x' * 100_000}--><script>{'y' * 100_000}</script><div id=app>Loading</div>",
    ],
)
def test_an_empty_application_is_a_shell(html: str) -> None:
    assert is_application_shell(html, (TITLE, PRICE))
    assert is_application_shell(html, ())


@pytest.mark.parametrize(
    "html",
    [
        f"<title>Plain</title>{ARTICLE}",
        "<title>Plain</title><p>Short.</p>",
        f"<title>Rendered</title><div id=root><span class=price>9</span>{ARTICLE}</div>",
        '<div id=app></div><script type="application/ld+json">{"price": 9, "title": "x"}</script><title>T</title>',
    ],
)
def test_a_page_that_can_be_read_is_not(html: str) -> None:
    assert not is_application_shell(html, (TITLE, PRICE))


def test_a_rendered_page_without_any_asked_field_is() -> None:
    assert is_application_shell(f"<div id=root>{ARTICLE}</div>", (PRICE,))


@pytest.mark.parametrize(
    "html, expected",
    [
        ("<title>x</title><body><div></div><script src=/main.js></script>", True),
        ("<title>x</title><body><iframe src=/a></iframe><script src=/m.js></script>", False),
        ('<title>x</title><body><script type="application/ld+json">{}</script>', False),
    ],
)
def test_to_a_crawl_a_page_with_nothing_but_a_script_is_a_shell(html: str, expected: bool) -> None:
    assert is_shell_page(Page(html), html, (), (), text_chars=0) is expected


@pytest.mark.parametrize(
    "html, expected",
    [
        ("<script>new IntersectionObserver(() => fetch('/next'))</script>", True),
        ("<script>window.onscroll = () => $.get('/next')</script>", True),
        ("<button class=x> Load more</button><script src=/x.js></script>", True),
        ("<a href='#' role=button>Show 20 more</a><script>/* load-more */</script>", True),
        ("<a href='/page/2'>Load more</a><script src=/x.js></script>", False),
        ("<script>new IntersectionObserver(showPicture)</script>", False),
        ("<p>There is an infinite number of stories.</p><script></script>", False),
    ],
)
def test_a_page_that_shows_more_when_it_is_scrolled_is_known_by_its_script(html: str, expected: bool) -> None:
    assert loads_more(Page(html)) is expected
