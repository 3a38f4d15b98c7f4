"""The links of a list page, as a crawl would take them."""

import pytest

from corral.domain.jobs.survey import MAX_SAMPLES
from corral.extract.list_page import ListFound, listing_of

PAGE = "https://shop.example/lamps?page=1"


def warnings_of(found: ListFound) -> list[str]:
    return list(listing_of(PAGE, found).warnings)


def test_links_are_canonical_and_there_once() -> None:
    links = ("HTTPS://Shop.Example:443/a#top", "https://shop.example/a", "https://shop.example/x/../b")
    listing = listing_of(PAGE, ListFound(3, links, "https://shop.example/lamps?page=2", has_pagination=True))
    assert listing.samples == ("https://shop.example/a", "https://shop.example/b")
    assert (listing.item_count, listing.next_page_url) == (2, "https://shop.example/lamps?page=2")
    assert listing.warnings == ()


def test_a_long_list_is_counted_whole_and_shown_in_part() -> None:
    links = tuple(f"https://shop.example/{number}" for number in range(500))
    listing = listing_of(PAGE, ListFound(500, links))
    assert (listing.item_count, len(listing.samples)) == (500, MAX_SAMPLES)


@pytest.mark.parametrize(
    "found, told",
    [
        (ListFound(0, ()), "matches nothing"),
        (ListFound(4, ()), "matches 4 elements and none has a URL"),
        (ListFound(2, ("mailto:a@b.example", "https://shop.example/a")), "1 of 2 links cannot be fetched"),
        (ListFound(3, ("https://shop.example/a",) * 3), "all 3 links lead to the same URL"),
        (ListFound(2, ("https://shop.example/a", PAGE + "#x")), "leads to this page itself"),
        (
            ListFound(3, ("https://shop.example/a", "https://ads.example/b", "https://ads.example/c")),
            "2 of 3 links leave shop.example: ads.example",
        ),
        (ListFound(1, ("https://shop.example/a",), None, has_pagination=True), "pagination matches no link"),
        (ListFound(1, ("https://shop.example/a",), PAGE, has_pagination=True), "the next page is this page"),
        (ListFound(1, ("https://shop.example/a",), "javascript:x()", has_pagination=True), "cannot be fetched"),
        (ListFound(1, ("https://shop.example/a",), "https://o.example/", has_pagination=True), "host: o.example"),
    ],
)
def test_what_is_odd_is_told(found: ListFound, told: str) -> None:
    [warning] = warnings_of(found)
    assert told in warning


def test_one_link_is_not_all_links_to_the_same_address() -> None:
    assert warnings_of(ListFound(1, ("https://shop.example/a",))) == []


def test_a_page_at_an_address_that_only_a_browser_takes_is_listed_too() -> None:
    listing = listing_of("https://shop.example/?a=\\", ListFound(1, ("https://shop.example/a",)))
    assert (listing.item_count, listing.warnings) == (1, ())
