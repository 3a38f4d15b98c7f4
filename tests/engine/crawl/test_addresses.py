"""Which addresses are one page: session ids, and a slash at the end."""

from corral.domain.runs.run import RunState
from corral.wiring.app import App
from tests.engine.crawl.crawling import crawl, start, wait_for_crawl
from tests.engine.crawl.site import Page, serve_site

TOKENS = [f"{number:02}f86d081884c7d65" for number in range(5)]


async def test_small_numbers_and_words_are_no_session_ids(app: App) -> None:
    stories = {f"/story?sid={name}": Page() for name in (*range(30), "intro")}
    with serve_site({"/": Page(list(stories)), **stories}) as site:
        run, found, _ = await crawl(app, f"{site.url}/")
    assert set(found) == {"/", *stories}
    assert run.stats["merged"] == 0


async def test_addresses_that_differ_in_a_session_id_are_one_and_are_counted(app: App) -> None:
    pages = {f"/p?sid={token}": Page(text="The very page", links=[f"/q?n={n}"]) for n, token in enumerate(TOKENS)}
    more = {f"/q?n={n}": Page(links=list(pages)) for n in range(5)}
    with serve_site({"/": Page(list(pages)), **pages, **more}) as site:
        run, _, _ = await crawl(app, f"{site.url}/", max_depth=5)
        assert sum(site.hits[path] for path in pages) == 1
        assert (run.state, run.stats["merged"]) == (RunState.COMPLETED, 4)
        run, _, _ = await crawl(app, f"{site.url}/", max_depth=5, keep_params=["sid"])
        assert {path: site.hits[path] for path in pages} == {**dict.fromkeys(pages, 1), next(iter(pages)): 2}
        assert run.stats["merged"] == 0


async def test_a_slash_at_the_end_is_another_page_unless_the_answer_says_otherwise(app: App) -> None:
    pages = {
        "/": Page(["/a", "/a/", "/b", "/b/", "/c", "/c/"]),
        "/a": Page(text="One thing"),
        "/a/": Page(text="Quite another thing"),
        "/b": Page(status=301, headers={"location": "/b/"}),
        "/b/": Page(text="Where the other one leads"),
        "/c": Page(raw="<title>C</title><p>the same"),
        "/c/": Page(raw="<title>C</title><p>the same"),
    }
    with serve_site(pages) as site:
        run, found, _ = await crawl(app, f"{site.url}/")
    assert set(found) in ({"/", "/a", "/a/", "/b/", "/c"}, {"/", "/a", "/a/", "/b/", "/c/"})
    assert (run.state, run.stats["reasons"]) == (RunState.COMPLETED, {"canonical": 1})


async def test_the_answer_tells_whether_it_is_a_page_and_not_the_name(app: App) -> None:
    picture = {"content-type": "image/jpeg"}
    pages = {
        "/": Page(["/photo.jpg", "/wiki/File:Photo.jpg", "/why-node.js", "/app.js", "/last"]),
        "/photo.jpg": Page(raw=b"\xff\xd8\xff" + b"x" * 5_000_000, headers=picture),
        "/wiki/File:Photo.jpg": Page(["/photo.jpg"]),
        "/why-node.js": Page(),
        "/app.js": Page(raw="let x = 1", headers={"content-type": "text/javascript"}),
        "/last": Page(),
    }
    with serve_site(pages) as site:
        run, found, _ = await crawl(app, f"{site.url}/", concurrency=1)
    assert {"/", "/wiki/File:Photo.jpg", "/why-node.js", "/last"} <= set(found)
    assert "/photo.jpg" not in found
    assert run.stats["bytes"] < 1_000_000, "no more than the head of it is read"
    order = [path for path, _ in site.asked_at]
    assert order.index("/last") < order.index("/why-node.js"), "what looks like a file comes after the others"


async def test_three_crawls_of_one_host_share_its_limit(app: App) -> None:
    pages = {f"/p{number}": Page(takes_s=0.05) for number in range(60)}
    with serve_site({"/": Page(list(pages)), **pages}) as site:
        runs = [await start(app, f"{site.url}/", concurrency=10, keywords=[], max_pages=61 + n) for n in range(3)]
        for run_id in runs:
            assert (await wait_for_crawl(app, run_id)).state is RunState.COMPLETED
    assert 2 < site.most_at_once <= 10


async def test_a_budget_that_nobody_asked_for_leaves_something_out(app: App) -> None:
    pages = {f"/p{number}": Page() for number in range(9)}
    with serve_site({"/": Page(list(pages)), **pages}) as site:
        run, _, _ = await crawl(app, f"{site.url}/", max_pages=4, asked_pages=False)
        assert (run.state, run.stats["left_out"]) == (RunState.PARTIAL, {"max_pages": 6})
        run, _, _ = await crawl(app, f"{site.url}/", max_pages=4)
        assert (run.state, run.stats["left_out"], run.stats["stopped_by"]) == (RunState.COMPLETED, {}, "budget")
