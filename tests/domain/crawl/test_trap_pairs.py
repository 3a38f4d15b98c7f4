"""Traps of two templates, and mazes that fit no template: real pages come before theirs."""

import random
from collections.abc import Callable
from itertools import product

import pytest

from corral.domain.net.url import parse_target
from tests.domain.crawl.miniature import Site, crawl
from tests.domain.crawl.trap_pairs import FINITE, TRAPS, folder_maze, gallery_of_links, photos_in_album, season_by_month
from tests.domain.crawl.trap_sites import Answer, Page, articles_with_relations

Finite = Callable[[int], tuple[dict[str, Answer], list[str], int]]
# Nothing but a budget ends these: they cannot be told from long lists, and from large sites.
WITHOUT_PROOF = {"offsets", "each other", "new words"}


# Without a proof the whole budget is spent: when there is little time, beside two of the sites.
PAIRS = [
    pytest.param(trap, finite, marks=pytest.mark.long if trap in WITHOUT_PROOF and finite is photos_in_album else ())
    for trap, finite in product(TRAPS, [gallery_of_links, photos_in_album, articles_with_relations])
]


@pytest.mark.parametrize("trap, finite", PAIRS)
def test_real_pages_come_before_those_of_a_trap_of_two_templates(trap: str, finite: Finite) -> None:
    real, entries, count = finite(300)
    answers, entry = TRAPS[trap]
    site = Site(real, answers, [entry, *entries])
    random.seed(1)
    refused = crawl(site, most=count + 1_000)
    assert site.found == count, f"{site.found} of {count}, {site.wasted} of the trap"
    if trap not in WITHOUT_PROOF:
        assert (site.wasted < 1_000, bool(refused)) == (True, True)


@pytest.mark.parametrize("finite", FINITE)
def test_a_finite_site_that_looks_like_a_calendar_loses_nothing(finite: Finite) -> None:
    real, entries, count = finite(900)
    site = Site(real, {}, entries)
    assert crawl(site) == {}
    assert site.found == count


def test_a_finite_calendar_is_crawled_whole_beside_an_empty_one() -> None:
    real, entries, count = season_by_month(600)
    answers, entry = TRAPS["calendar"]
    site = Site(real, answers, [entry, *entries])
    assert crawl(site)
    assert (site.found, site.wasted < 1_000) == (count, True), site.wasted


class FolderMaze(Site):
    """Every folder that is not real belongs to the maze."""

    def __init__(self, finite: Finite, count: int, maze: Answer) -> None:
        real, entries, self.count = finite(count)
        super().__init__(real, {"maze": maze}, ["/zentrance/door", *entries])

    def answer(self, url: str) -> Page:
        path = parse_target(url).path
        if path[1:2] != "z":
            return super().answer(url)
        self.fetched.append("maze")
        return self.traps["maze"](path, "")


@pytest.mark.parametrize("has_new_words", [False, True])
@pytest.mark.parametrize("finite", [gallery_of_links, photos_in_album])
def test_a_maze_of_new_folders_comes_after_real_pages(finite: Finite, has_new_words: bool) -> None:
    site = FolderMaze(finite, 200, folder_maze(has_new_words))
    crawl(site, most=2 * site.count)
    assert site.found == site.count, f"{site.found} of {site.count}, {site.wasted} of the maze"


def _next_page(rest: str, query: str) -> Page:
    number = int(rest or 0)
    return f"page {number} of the list and nothing else here", [f"/x/{number + 1}"]


@pytest.mark.parametrize("finite", [gallery_of_links, articles_with_relations])
def test_a_chain_without_end_costs_a_tight_budget_few_real_pages(finite: Finite) -> None:
    real, entries, count = finite(600)
    site = Site(real, {"x": _next_page}, ["/x/1", *entries])
    random.seed(1)
    crawl(site, most=round(1.3 * count))
    assert site.found >= 0.97 * count, f"{site.found} of {count}, {site.wasted} of the chain"
