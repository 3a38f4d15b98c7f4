import pytest

from corral.domain.job import FieldSpec
from corral.extract.spa import is_application_shell

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
