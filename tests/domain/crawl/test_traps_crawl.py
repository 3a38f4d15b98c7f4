"""Sites of real pages and traps, crawled in miniature: see `miniature`."""

import random
from collections import Counter
from collections.abc import Callable
from itertools import product

import pytest

from tests.chaos.level import LEVEL, by_level
from tests.domain.crawl.miniature import Site, crawl
from tests.domain.crawl.trap_sites import (
    ENDLESS_CHAIN,
    FINITE,
    FINITE_WIDE,
    TRAPS,
    Answer,
    article_tree,
    articles,
    articles_with_relations,
    gallery,
    manual_in_languages,
    tables,
    variants,
)


# Each has all traps beside it; the tests below have every site beside some of them.
@pytest.mark.parametrize("comes_first", ["real", "traps"] if LEVEL else ["traps"])
@pytest.mark.parametrize("finite", FINITE if LEVEL else [variants, gallery])
def test_a_finite_site_is_crawled_whole_beside_every_trap(
    finite: Callable[[int], tuple[dict[str, Answer], list[str], int]], comes_first: str
) -> None:
    real, entries, count = finite(610)
    traps = {kind: answer for kind, (answer, _) in TRAPS.items() if kind not in real}
    trapped = [entry for kind, (_, entry) in TRAPS.items() if kind in traps]
    site = Site(real, traps, [*entries, *trapped] if comes_first == "real" else [*trapped, *entries])
    random.seed(1)
    refused = crawl(site)
    by_trap = Counter(kind for kind in site.fetched if kind in traps)
    assert site.found >= 0.995 * count, (site.found, count, by_trap)
    assert site.found <= count, "a page was fetched twice"
    assert site.wasted <= 1_000, by_trap
    assert refused, "what is held back is told"


@pytest.mark.parametrize("finite", FINITE)
def test_a_finite_site_without_traps_loses_nothing(
    finite: Callable[[int], tuple[dict[str, Answer], list[str], int]],
) -> None:
    # What leads from page to page grows until half of a tree, or all of a chain, is fetched.
    larger = by_level(800, 2_000)
    counts = {"tables": 640, "gallery": 640, "article_tree": by_level(800, 1_600)}
    real, entries, count = finite(counts.get(finite.__name__, larger))
    site = Site(real, {}, entries)
    assert crawl(site) == {}
    assert site.found == count


@pytest.mark.parametrize("trap", TRAPS | ENDLESS_CHAIN)
def test_every_trap_ends_by_itself(trap: str) -> None:
    answer, entry = (TRAPS | ENDLESS_CHAIN)[trap]
    site = Site({}, {trap: answer}, [entry])
    random.seed(1)
    refused = crawl(site)
    assert refused
    assert site.wasted <= 1_000


ALONE = [variants, gallery, article_tree, articles_with_relations]
FOURS = [("cal", "maze", "shop", "s"), ("agenda", "babble", "topic", "search"), ("day", "plan", "shop", "babble")]


@pytest.mark.parametrize(
    "finite, traps",
    [
        *product(ALONE if LEVEL else ALONE[:2], [(kind,) for kind in TRAPS]),
        *product(
            [variants, articles, article_tree, articles_with_relations, tables, gallery, manual_in_languages], FOURS
        ),
    ],
)
def test_pages_of_a_finite_site_come_before_those_of_traps(
    finite: Callable[[int], tuple[dict[str, Answer], list[str], int]], traps: tuple[str, ...]
) -> None:
    """All are deferred for their content; what tells them apart is how they grow."""
    real, entries, count = finite(200)
    site = Site(real, {kind: TRAPS[kind][0] for kind in traps}, [*(TRAPS[kind][1] for kind in traps), *entries])
    random.seed(1)
    crawl(site, most=round(1.3 * count))
    assert site.found >= 0.995 * count, f"{site.found} of {count}, {site.wasted} of the traps"


@pytest.mark.parametrize("finite", [*FINITE, *FINITE_WIDE])
def test_pages_of_a_finite_site_come_before_those_of_an_endless_chain(
    finite: Callable[[int], tuple[dict[str, Answer], list[str], int]],
) -> None:
    """A chain costs the same as a gallery until it is known to lead one way only."""
    real, entries, count = finite(200)
    [(kind, (answer, entry))] = ENDLESS_CHAIN.items()
    site = Site(real, {kind: answer}, [entry, *entries])
    crawl(site, most=round(1.3 * count))
    assert site.found >= 0.95 * count, f"{site.found} of {count}, {site.wasted} of the chain"


@pytest.mark.parametrize("finite", FINITE_WIDE)
def test_a_wide_site_is_crawled_whole_beside_an_endless_chain(
    finite: Callable[[int], tuple[dict[str, Answer], list[str], int]],
) -> None:
    real, entries, count = finite(610)
    [(kind, (answer, entry))] = ENDLESS_CHAIN.items()
    site = Site(real, {kind: answer}, [entry, *entries])
    crawl(site)
    assert (site.found, site.wasted <= 1_000) == (count, True), site.wasted
