"""The order of names that grow: which of them are more suspect than others."""

import json

import pytest

from corral.domain.crawl.templates.budget import TemplateBudget
from corral.domain.crawl.templates.growth import Shape, Spread
from corral.domain.crawl.templates.traps import Trap, is_numbered_list, list_beside, names_of, template_of

SITE = "https://example.com"


def spread_of(*added: int, closing: int = 0, leads_back: bool = False) -> Spread:
    """Pages that led to this many new addresses beside them, each to `closing` known ones."""
    spread = Spread()
    for number, each in enumerate(added):
        spread.add(each, closing=range(number, number + closing), leads_back=leads_back)
    return spread


def test_a_set_that_drains_is_not_suspect() -> None:
    assert spread_of(*[5] * 20).suspicion(Shape.PLAIN) > 0
    assert spread_of(*[5] * 20, *[1, 0, 0] * 16).suspicion(Shape.PLAIN) == 0


def test_waves_of_new_addresses_do_not_look_like_the_end_of_a_set() -> None:
    months = [number for _ in range(6) for number in (30, *[0] * 29)]
    assert spread_of(*months).suspicion(Shape.PLAIN) > 0
    assert spread_of(*months[:-1]).suspicion(Shape.DATED) > 0


def test_pages_that_link_to_each_other_are_less_suspect_than_invented_ones() -> None:
    invented, related = spread_of(*[4] * 40), spread_of(*[4] * 40, closing=1)
    assert invented.is_invented
    assert not related.is_invented
    assert related.suspicion(Shape.PLAIN) < invented.suspicion(Shape.PLAIN) / 5
    # A menu names the same few pages everywhere.
    menu = Spread()
    for _ in range(40):
        menu.add(4, closing=[1, 2])
    assert menu.is_invented


def test_a_set_with_ends_is_not_invented() -> None:
    assert not spread_of(*[5, 5, 5, 5, 5, 5, 0, 0] * 4).is_invented


def test_the_pages_of_a_numbered_list_come_after_those_of_a_gallery() -> None:
    chain = spread_of(*[1] * 20)
    assert chain.suspicion(Shape.PLAIN) < chain.suspicion(Shape.NUMBERED_LIST) / 10


def test_a_chain_that_leads_one_way_comes_after_one_that_leads_back() -> None:
    one_way, both_ways = spread_of(*[1] * 20), spread_of(*[1] * 20, leads_back=True)
    assert one_way.suspicion(Shape.PLAIN) > 2 * both_ways.suspicion(Shape.PLAIN)
    # A tree that is about to drain leads to one new page per page for a while, and never was a chain.
    tree = spread_of(*[2] * 20, *[1] * 20)
    assert tree.suspicion(Shape.PLAIN) < 2 * tree.pages


def test_a_wide_set_has_more_time_to_close_if_no_other_is_suspect() -> None:
    wide = spread_of(*[4] * 30)
    assert wide.suspicion(Shape.PLAIN, is_alone=True) == 30
    assert wide.suspicion(Shape.PLAIN) > 5 * 30
    budget, maze, other = TemplateBudget(), template_of(f"{SITE}/maze/1"), template_of(f"{SITE}/other/1")
    for _ in range(30):
        budget.observe(maze, 77, led_to=[maze] * 4)
    assert budget.growth([maze]) == {maze: 30}
    for _ in range(30):
        budget.observe(other, 77, led_to=[other] * 4)
    assert budget.growth([maze])[maze] > 5 * 30


def test_what_an_earlier_version_wrote_about_growth_is_understood() -> None:
    assert Spread.of([10, 40, 3, 1, 2]) == Spread(10, 40, 3, 1, 2, recent=4.0, leads_back=True)
    spread = spread_of(3, 0, 2, closing=2)
    assert Spread.of(json.loads(json.dumps(spread.document()))).document() == spread.document()


@pytest.mark.parametrize(
    "url, is_list",
    [
        ("/search?page=7", True),
        ("/search?q=shoes&offset=70", True),
        ("/blog/page/7", True),
        ("/photo?id=7", False),
        ("/photo/7", False),
        ("/homepage/7", False),
    ],
)
def test_numbered_lists_show_by_their_names(url: str, is_list: bool) -> None:
    assert is_numbered_list(template_of(SITE + url)) is is_list


def test_addresses_beside_a_page_are_those_counted_with_it() -> None:
    links = [f"{SITE}{path}" for path in ("/a", "/b/c", "/b/d/e", "/b?x=1", "/b?x=2", "/bc/d")]
    for url in (f"{SITE}/q", f"{SITE}/b/z", f"{SITE}/b?x=3"):
        name = names_of(template_of(url))[1]
        assert list_beside(url, links) == [link for link in links if name in names_of(template_of(link))]


def test_pages_that_grow_are_deferred_sooner() -> None:
    growing, listed = template_of(f"{SITE}/maze/1"), template_of(f"{SITE}/photo/1")
    budget = TemplateBudget()
    for _ in range(6):
        budget.observe(growing, 77, led_to=[growing], found_on=growing)
        budget.observe(listed, 77)
    assert budget.admit(growing) is Trap.NO_NEW_CONTENT
    assert budget.admit(listed) is None
