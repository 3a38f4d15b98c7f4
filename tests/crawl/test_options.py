"""Every option of a plan changes what a crawl does, over a real site."""

from corral.domain.run import RunState
from corral.wiring import App
from tests.crawl.site import Page, served, tree
from tests.crawl.test_crawls import crawled, reasons, start
from tests.crawl.test_crawls import ended as ended_run


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
    with served(pages) as site:
        run, found, counts = await crawled(app, f"{site.url}/")
        assert set(found) == {"/", "/a", "/b", "/behind", "/d"}
        assert found["/a"]["depth"] == 1
        assert set(site.hits.values()) == {1}
        assert (run.state, counts.skipped) == (RunState.COMPLETED, 2)
        assert await reasons(app, run.id) == {"canonical": 2} == run.stats["reasons"]
        _, found, _ = await crawled(app, f"{site.url}/", use_canonical=False)
        assert set(found) == {"/", "/a?sort=1", "/b", "/behind", "/c"}


async def test_so_many_bytes_end_it_well(app: App) -> None:
    with served(tree(width=3, depth=3)) as site:
        run, found, counts = await crawled(app, f"{site.url}/", max_bytes=4_000, concurrency=1)
        assert (run.state, run.stats["stopped_by"], run.stats["budget"]) == (RunState.COMPLETED, "budget", "max_bytes")
        # And what was handed out before.
        assert 4_000 <= run.stats["bytes"] < 4_000 + 4 * run.stats["bytes"] / counts.done
        assert 1 < len(found) < len(site.pages)
        assert counts.pending > 0


async def test_so_many_pages_of_one_host_and_the_others_go_on(app: App) -> None:
    with served(tree(width=3, depth=1)) as other, served(tree(width=3, depth=3)) as site:
        site.pages["/"] = Page(["/0", "/1", "/2", f"{other.url}/"])
        options = {"scope": {"mode": "any"}, "max_per_host": 5}
        run = await ended_run(app, await start(app, f"{site.url}/", **options))
        counts = (await app.store.crawl_now(run.id)).counts
        assert (run.state, run.stats["stopped_by"], run.stats["budget"]) == (
            RunState.COMPLETED,
            "budget",
            "max_per_host",
        )
        assert (sum(site.hits.values()), sum(other.hits.values())) == (5, 4)
        assert counts.pending == 0
        assert run.stats["reasons"] == {"host_budget": counts.skipped}
