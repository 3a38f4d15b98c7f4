"""Every option of a plan changes what a crawl does, over a real site."""

import random

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import DiscoveredLink, ItemResult
from corral.domain.runs.run import RunState
from corral.engine.worker.kinds.crawl.batches import next_batch
from corral.wiring.app import App
from tests.engine.crawl.crawling import crawl, reasons, start, wait_for_crawl
from tests.engine.crawl.site import Page, serve_site, tree


async def test_a_page_that_names_its_original_counts_as_that_one(app: App) -> None:
    pages = {
        "/": Page(["/a?sort=1", "/b", "/c"]),
        "/a?sort=1": Page(["/behind"], head='<link rel="canonical" href="/a">'),
        "/a": Page(head='<link rel=canonical href="/a">'),
        "/b": Page(head='<link rel="canonical" href="http://elsewhere.test/b">'),
        "/behind": Page(),
        # Each says it is the other one: one of them is taken.
        "/c": Page(head='<link rel="canonical" href="/d">'),
        "/d": Page(head='<link rel="canonical" href="/c">'),
    }
    with serve_site(pages) as site:
        run, found, counts = await crawl(app, f"{site.url}/")
        assert set(found) == {"/", "/a", "/b", "/behind", "/d"}
        assert found["/a"]["depth"] == 1
        assert set(site.hits.values()) == {1}
        assert (run.state, counts.skipped) == (RunState.COMPLETED, 2)
        assert await reasons(app, run.id) == {"canonical": 2} == run.stats["reasons"]
        _, found, _ = await crawl(app, f"{site.url}/", use_canonical=False)
        assert set(found) == {"/", "/a?sort=1", "/b", "/behind", "/c"}


async def test_so_many_bytes_end_it_well(app: App) -> None:
    with serve_site(tree(width=3, depth=3)) as site:
        run, found, counts = await crawl(app, f"{site.url}/", max_bytes=4_000, concurrency=1)
        assert (run.state, run.stats["stopped_by"], run.stats["budget"]) == (RunState.COMPLETED, "budget", "max_bytes")
        # And what was handed out before.
        assert 4_000 <= run.stats["bytes"] < 4_000 + 4 * run.stats["bytes"] / counts.done
        assert 1 < len(found) < len(site.pages)
        assert counts.pending > 0


async def test_so_many_pages_of_one_host_and_the_others_go_on(app: App) -> None:
    with serve_site(tree(width=3, depth=1)) as other, serve_site(tree(width=3, depth=3)) as site:
        site.pages["/"] = Page(["/0", "/1", "/2", f"{other.url}/"])
        options = {"scope": {"mode": "any"}, "max_per_host": 5}
        run = await wait_for_crawl(app, await start(app, f"{site.url}/", **options))
        counts = (await app.store.crawls.get(run.id)).counts
        assert (run.state, run.stats["stopped_by"], run.stats["budget"]) == (
            RunState.COMPLETED,
            "budget",
            "max_per_host",
        )
        assert (sum(site.hits.values()), sum(other.hits.values())) == (5, 4)
        assert counts.pending == 0
        assert run.stats["reasons"] == {"host_budget": counts.skipped}


def test_a_page_with_many_links_is_told_in_several_steps() -> None:
    links = tuple(DiscoveredLink(f"http://a.test/{number}", str(number), "a.test", 1) for number in range(25))
    small = ItemResult(1, "a", ItemState.DONE, found=links[:3])
    large = ItemResult(2, "b", ItemState.DONE, record={"url": "b"}, found=links)
    told: list[ItemResult] = []
    steps = 0
    left = [small, large, small._replace(id=3)]
    while left:
        now, left = next_batch(left, max_links=10)
        assert sum(len(each.found) for each in now) <= 10
        told += now
        steps += 1
    assert steps == 4
    assert [link for each in told if each.id == 2 for link in each.found] == list(links)
    assert [each.state for each in told if each.id == 2] == ["leased", "leased", "done"]
    assert [each.record for each in told if each.id == 2] == [None, None, {"url": "b"}]


async def test_the_best_come_first_where_that_is_asked_for(app: App) -> None:
    dull = {f"/dull/{number}": Page([f"/dull/{number}/more"]) for number in range(20)}
    pages = {
        "/": Page([*dull, "/way"]),
        **dull,
        "/way": Page(["/way/to/the/prices"]),
        "/way/to/the/prices": Page(["/way/to/the/prices/2026"]),
        "/way/to/the/prices/2026": Page(),
    }
    # The text of a link counts, too.
    pages["/"].links = [*dull, "/way#prices"]
    with serve_site(pages) as site:
        options = {"order": "best", "keywords": ["prices"], "max_pages": 4, "concurrency": 1}
        site.pages["/way"].head = ""
        site.pages["/"].raw = "<main>Start</main>" + "".join(
            f'<a href="{link}">{"our Prices" if "way" in link else "dull"}</a>' for link in pages["/"].links
        )
        _, found, _ = await crawl(app, f"{site.url}/", **options)
        assert {"/", "/way"} < set(found)
        assert found["/way"]["depth"] == 1
        _, found, _ = await crawl(app, f"{site.url}/", max_pages=4, concurrency=1)
        assert "/way" not in found


async def test_depths_are_right_in_any_order(app: App) -> None:
    """A page that was read by a long way and lies nearer than that is read again, and so is what it leads to."""
    dice = random.Random(7)
    count, depth = 60, 4
    pages = {f"/{number}": Page([f"/{dice.randrange(count)}" for _ in range(2)]) for number in range(count)}
    names = {name: "/" + name.strip("/") + ("/prices" if dice.random() < 0.3 else "") for name in pages}
    pages = {names[name]: Page([names[link] for link in page.links]) for name, page in pages.items()}
    start_at = names["/0"]
    depths, edge = {start_at: 0}, [start_at]
    for level in range(1, depth + 1):
        edge = list(dict.fromkeys(link for path in edge for link in pages[path].links if link not in depths))
        depths |= dict.fromkeys(edge, level)
    with serve_site(pages) as site:
        options = {"order": "best", "keywords": ["prices"], "max_depth": depth, "concurrency": 2}
        _, found, counts = await crawl(app, f"{site.url}{start_at}", **options)
        assert {path: record["depth"] for path, record in found.items()} == depths
        assert counts.done == len(depths)
