"""A site crawled again: what changed is told, what did not is not sent again, and the results are whole."""

from collections.abc import Mapping
from email.utils import formatdate

import pytest

from corral.domain.crawl.crawl import CrawlPlan, ItemState
from corral.domain.crawl.item import short_key
from corral.domain.crawl.payload import plan_of
from corral.domain.errors import BadInput
from corral.domain.net.canonical import url_key
from corral.domain.net.url import parse_target
from corral.domain.runs.run import RunState
from corral.wiring.app import App
from tests.engine.crawl.crawling import crawl
from tests.engine.crawl.site import Page, Site, serve_site


class CarefulSite(Site):
    """Says which version a page has, and does not send one that is known."""

    def __init__(self, pages: dict[str, Page]) -> None:
        super().__init__(pages)
        self.not_sent: list[str] = []

    def answer_to(self, path: str, asked: Mapping[str, str]) -> tuple[int, Mapping[str, str], str | bytes]:
        status, headers, body = self.answer(path)
        page = self.pages.get(path)
        if page is None or path.startswith("/plain"):
            return status, headers, body
        if path.startswith("/dated"):
            validators = {"last-modified": formatdate(1_700_000_000 + len(page.text), usegmt=True)}
            is_known = asked.get("if-modified-since") == validators["last-modified"]
        else:
            validators = {"etag": f'"{hash(page.text)}"'}
            is_known = asked.get("if-none-match") == validators["etag"]
        if is_known:
            self.not_sent.append(path)
            return 304, validators, ""
        return status, {**headers, **validators}, body


def a_site() -> CarefulSite:
    names = ("/same", "/changed", "/gone", "/dated/same", "/dated/changed", "/plain/same", "/plain/changed")
    return CarefulSite(
        {"/": Page(names), **{name: Page() for name in names}, "/same": Page(["/behind"]), "/behind": Page()}
    )


async def test_a_recrawl_says_what_changed_and_is_whole(app: App) -> None:
    site = a_site()
    with serve_site(site):
        first, before, _ = await crawl(app, f"{site.url}/")
        assert (len(before), "changes" in first.stats, "change" in before["/same"]) == (9, False, False)
        for path in ("/changed", "/dated/changed", "/plain/changed"):
            site.pages[path].text = f"{path} says something else now, and rather more than it did before."
        del site.pages["/gone"]
        site.pages["/"].links = [*(link for link in site.pages["/"].links if link != "/gone"), "/new"]
        site.pages["/"].text = "The start has another text now."
        site.pages["/new"] = Page()
        site.hits.clear()
        run, found, counts = await crawl(app, f"{site.url}/", since=first.id)
        assert run.state is RunState.COMPLETED
        assert {path: record["change"] for path, record in found.items()} == {
            "/": "changed",
            "/same": "unchanged",
            "/behind": "unchanged",
            "/dated/same": "unchanged",
            "/plain/same": "unchanged",
            "/changed": "changed",
            "/dated/changed": "changed",
            "/plain/changed": "changed",
            "/new": "new",
        }
        assert run.stats["changes"] == {"new": 1, "changed": 4, "unchanged": 4, "gone": 1}
        assert sorted(site.not_sent) == ["/behind", "/dated/same", "/same"]
        assert set(site.hits.values()) == {1}
        assert (counts.failed, run.stats["reasons"]) == (0, {"gone": 1})
        # What was not sent is what was recorded then.
        assert found["/same"] == {**before["/same"], "change": "unchanged"}
        gone, *_ = await app.store.crawls.path_to(run.id, short_key(url_key(parse_target(f"{site.url}/gone"))))
        assert (gone.state, gone.reason, gone.change) == (ItemState.MISSING, "gone", "gone")
        assert await app.store.crawls.missing_urls(run.id, 10) == [gone.url]
        # And again, compared with the second: nothing new, and all of it is there.
        third, found, _ = await crawl(app, f"{site.url}/", since="last")
        assert plan_of(third.payload).since == run.id
        assert third.stats["changes"] == {"new": 0, "changed": 0, "unchanged": 9, "gone": 0}
        assert len(found) == 9


async def test_a_recrawl_that_looks_further_finds_what_lies_deeper(app: App) -> None:
    site = CarefulSite({"/": Page(["/a"]), "/a": Page(["/b"]), "/b": Page(["/c"]), "/c": Page()})
    with serve_site(site):
        first, found, _ = await crawl(app, f"{site.url}/", max_depth=1)
        assert set(found) == {"/", "/a"}
        _, found, _ = await crawl(app, f"{site.url}/", max_depth=3, since=first.id)
        assert {path: record["change"] for path, record in found.items()} == {
            "/": "unchanged",
            "/a": "unchanged",
            "/b": "new",
            "/c": "new",
        }
        assert found["/c"]["depth"] == 3


async def test_only_an_ended_crawl_of_the_same_fields_can_be_compared_with(app: App) -> None:
    site = CarefulSite({"/": Page()})
    with serve_site(site):
        first, _, _ = await crawl(app, f"{site.url}/")
        plan = {"start_urls": [f"{site.url}/"]}
        unknown = "01900000-0000-7000-8000-000000000000"
        for since, more in ((unknown, {}), (first.id, {"fields": [{"name": "price"}]})):
            with pytest.raises(BadInput) as refused:
                await app.crawls.start(CrawlPlan.of({**plan, **more, "since": since}))
            assert refused.value.field == "since"
        for first_of_its_kind in ({"start_urls": [f"{site.url}/other"]}, {**plan, "fields": [{"name": "price"}]}):
            run, _ = await app.crawls.start(CrawlPlan.of({**first_of_its_kind, "since": "last"}))
            assert plan_of(run.payload).since is None


async def test_a_change_anywhere_in_the_content_is_a_change_and_noise_in_the_markup_is_none(app: App) -> None:
    def page(beside: str, nonce: int) -> Page:
        main = f"<main><p>{'The same words as ever, and many of them. ' * 20}</main>"
        head = f"<title>Page</title><script nonce={nonce}>var t = {nonce}</script><meta name=csrf content={nonce}>"
        return Page(raw=f"{head}{main}<aside>{beside}</aside><!-- {nonce} --><a href='/?t={nonce}'>home</a>")

    paths = {"/noisy": "As before", "/beside": "As before"}
    with serve_site({"/": Page(list(paths)), **{path: page(text, 1) for path, text in paths.items()}}) as site:
        await crawl(app, f"{site.url}/")
        site.pages |= {"/noisy": page("As before", 2), "/beside": page("A paragraph beside the article changed", 2)}
        _, found, _ = await crawl(app, f"{site.url}/", since="last")
    assert {path: found[path]["change"] for path in paths} == {"/noisy": "unchanged", "/beside": "changed"}
