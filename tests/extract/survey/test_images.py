"""The images of a page."""

import pytest

from corral.extract.page import Page
from corral.extract.survey.images import forbids_training, read_images


def images_of(body: str) -> list[list[str]]:
    found: list[list[str]] = read_images(Page(body, "https://example.com/p/"))["images"]
    return found


@pytest.mark.parametrize(
    "body, expected",
    [
        ('<img src="a.jpg" alt=" A  cat ">', [["https://example.com/p/a.jpg", "A cat"]]),
        (
            '<img src="s.jpg" srcset="s.jpg 100w, /l.jpg 800w, m.jpg 400w" title="T">',
            [["https://example.com/l.jpg", "T"]],
        ),
        ('<img srcset="one.jpg, two.jpg 2x">', [["https://example.com/p/two.jpg", ""]]),
        ('<img src="data:image/gif;base64,xx" data-src="lazy.jpg">', [["https://example.com/p/lazy.jpg", ""]]),
        ('<img src="data:image/gif;base64,xx">', []),
        (
            '<figure><a href="big.png"><img src="small.png"></a><figcaption>Big <b>one</b></figcaption></figure>',
            [["https://example.com/p/small.png", "Big one"], ["https://example.com/p/big.png", "Big one"]],
        ),
        ('<img src="a.jpg"><img src="a.jpg" alt="once">', [["https://example.com/p/a.jpg", "once"]]),
        (
            '<picture><source srcset="p.avif"><img src="p.jpg" alt="P"></picture>',
            [["https://example.com/p/p.avif", "P"], ["https://example.com/p/p.jpg", "P"]],
        ),
        ('<a href="page.html"><img src="x.png"></a>', [["https://example.com/p/x.png", ""]]),
    ],
)
def test_addresses_and_captions(body: str, expected: list[list[str]]) -> None:
    assert images_of(body) == expected


@pytest.mark.parametrize(
    "content, expected", [("noai", True), ("noindex, NoImageAI", True), ("noindex", False), ("", False)]
)
def test_the_meta_element_can_forbid_training(content: str, expected: bool) -> None:
    page = Page(f'<meta name="robots" content="{content}">', "https://example.com/")
    assert read_images(page)["noai"] is expected


@pytest.mark.parametrize(
    "tag, expected",
    [
        ("noai", True),
        ("noindex, noimageai", True),
        ("corral: noai", True),
        ("*: noai", True),
        ("otherbot: noai", False),
        ("noindex", False),
    ],
)
def test_the_header_can_forbid_training(tag: str, expected: bool) -> None:
    assert forbids_training([tag], "corral/1.0 (+https://example.com)") is expected


def test_links_are_followed_unless_the_page_says_no() -> None:
    found = read_images(Page('<a href="a">1</a><a rel="nofollow" href="b">2</a>', "https://example.com/"))
    assert found["links"] == ["https://example.com/a"]
