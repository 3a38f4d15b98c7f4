"""Sitemaps: pages that no link leads to are found, and what is meant to do harm does none."""

import gzip
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from corral.domain.crawl.crawl import CrawlPlan, ItemState
from corral.domain.crawl.item import DiscoveredLink
from corral.domain.runs.run import RunState
from corral.extract.sitemap import MAX_URLS, NotASitemap, read_sitemap
from corral.wiring.app import App
from tests.engine.crawl.crawling import crawl, reasons
from tests.engine.crawl.site import Page, Site, serve_site

RANK_AT = DiscoveredLink._fields.index("rank")
XML = {"content-type": "application/xml"}
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
DTD = '<!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'


def urlset(*locs: str, more: str = "") -> str:
    urls = "".join(f"<url><loc>{loc}</loc>{more}</url>" for loc in locs)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NAMESPACE}>{urls}</urlset>'


def index(*locs: str) -> str:
    named = "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in locs)
    return f"<sitemapindex {NAMESPACE}>{named}</sitemapindex>"


def a_site() -> dict[str, Page]:
    return {
        "/": Page(["/linked"]),
        "/linked": Page(["/deeper"]),
        **{path: Page() for path in ("/deeper", "/hidden/a", "/hidden/b", "/packed", "/dated", "/private/x")},
    }


def add_sitemaps(site: Site) -> None:
    url = site.url
    packed = gzip.compress(urlset(f"{url}/packed").encode())
    named = [f"{url}/maps/index.xml", f"{url}/dtd.xml", f"{url}/page.xml"]
    site.pages |= {
        "/robots.txt": Page(
            raw="".join(f"Sitemap: {each}\n" for each in named), headers={"content-type": "text/plain"}
        ),
        "/sitemap.xml": Page(raw=urlset(f"{url}/hidden/a", "/hidden/b", "http://elsewhere.test/c"), headers=XML),
        # It names itself, one on another host and one that is nested too deeply.
        "/maps/index.xml": Page(
            raw=index(f"{url}/maps/index.xml", f"{url}/maps/2.xml.gz", f"{url}/maps/i2.xml", "http://a.test/s.xml"),
            headers=XML,
        ),
        "/maps/2.xml.gz": Page(raw=packed, headers={"content-type": "application/gzip"}),
        "/maps/i2.xml": Page(raw=index(f"{url}/maps/i3.xml", f"{url}/maps/dated.xml"), headers=XML),
        "/maps/i3.xml": Page(raw=index(f"{url}/maps/i4.xml"), headers=XML),
        "/maps/dated.xml": Page(raw=urlset(f"{url}/dated", more="<lastmod>2026-01-02</lastmod>"), headers=XML),
        "/dtd.xml": Page(raw=f"{DTD}{urlset(f'{url}/private/x').partition('?>')[2]}", headers=XML),
        "/page.xml": Page(text="no sitemap at all"),
    }


async def test_pages_that_only_sitemaps_name_are_crawled(app: App) -> None:
    with serve_site(a_site()) as site:
        add_sitemaps(site)
        run, found, _ = await crawl(app, f"{site.url}/", max_depth=1, use_sitemaps=True)
        assert run.state is RunState.COMPLETED, run.stats
        assert set(found) == {"/", "/linked", "/hidden/a", "/hidden/b", "/packed", "/dated"}
        assert {found[path]["depth"] for path in found if path != "/"} == {1}
        assert site.hits["/maps/index.xml"] == site.hits["/maps/i3.xml"] == 1
        assert site.hits["/maps/i4.xml"] == site.hits["/private/x"] == 0
        assert await reasons(app, run.id) == {
            "sitemap": 7,
            "bad_response:xml_dtd": 1,
            "bad_response:sitemap": 1,
            "too_deep": 1,
        }
        items = await app.store.crawls.items(run.id, ItemState.DONE, 0, 100)
        assert {item.lastmod for item in items if item.url.endswith("/dated")} == {"2026-01-02"}
        _, found, _ = await crawl(app, f"{site.url}/", max_depth=1)
        assert set(found) == {"/", "/linked"}


async def test_a_sitemap_that_breaks_off_is_used_and_said_to_be_one(app: App) -> None:
    with serve_site({"/": Page(), "/a": Page(), "/b": Page()}) as site:
        whole = urlset(f"{site.url}/a", f"{site.url}/b")
        site.pages["/sitemap.xml"] = Page(raw=whole[: whole.index("/b<") + 1], headers=XML)
        run, found, _ = await crawl(app, f"{site.url}/", use_sitemaps=True)
        assert set(found) >= {"/", "/a"}
        assert (await reasons(app, run.id))["sitemap_cut"] == 1


@pytest.mark.parametrize(
    "text, is_cut",
    [
        (urlset("http://a.test/1"), False),
        (f"{urlset('http://a.test/1')}\n<!-- done -->", False),
        (f"<urlset {NAMESPACE}/>", False),
        ("http://a.test/1\nhttp://a.test/2", False),
        (urlset("http://a.test/1").removesuffix("</urlset>"), True),
        (index("http://a.test/s.xml")[:-20], True),
        (gzip.compress(urlset("http://a.test/1").encode())[:-12], True),
    ],
)
def test_whether_a_sitemap_breaks_off(text: str | bytes, is_cut: bool) -> None:
    assert read(text).get("is_cut", False) is is_cut


async def test_a_sitemap_is_not_followed_to_where_a_link_would_not_lead(app: App) -> None:
    with serve_site({}) as elsewhere:
        away = elsewhere.url.replace("127.0.0.1", "localhost") + "/sitemap.xml"
        elsewhere.pages["/sitemap.xml"] = Page(raw=urlset("/x"), headers=XML)
        pages = {
            "/": Page(),
            "/sitemap.xml": Page(status=302, headers={"location": "/closed.xml"}),
            "/away.xml": Page(status=302, headers={"location": away}),
            "/closed.xml": Page(raw=urlset("/x"), headers=XML),
        }
        with serve_site(pages) as site:
            rules = f"User-agent: *\nDisallow: /closed.xml\nSitemap: {site.url}/away.xml\n"
            site.pages["/robots.txt"] = Page(raw=rules, headers={"content-type": "text/plain"})
            run, _, _ = await crawl(app, f"{site.url}/", respect_robots=True, use_sitemaps=True)
            assert (site.hits["/closed.xml"], dict(elsewhere.hits)) == (0, {})
            assert await reasons(app, run.id) == {"policy:robots": 1, "policy:out_of_scope": 1, "sitemap": 1}


async def test_a_site_without_sitemaps_is_crawled_all_the_same(app: App) -> None:
    with serve_site({"/": Page(["/a"]), "/a": Page()}) as site:
        run, found, counts = await crawl(app, f"{site.url}/", use_sitemaps=True)
        assert (run.state, set(found), counts.failed) == (RunState.COMPLETED, {"/", "/a"}, 0)
        assert await reasons(app, run.id) == {"sitemap": 1, "bad_response:http_404": 1}


def read(body: str | bytes, **options: Any) -> dict[str, Any]:
    plan = CrawlPlan.of({"start_urls": ["http://a.test/"], "max_depth": 3, **options})
    packed = body if isinstance(body, bytes) else body.encode()
    return read_sitemap(packed, "application/xml", "http://a.test/sitemap.xml", plan, 1, datetime.now(UTC).date())


def test_of_a_sitemap_with_too_many_addresses_the_first_are_taken_and_the_rest_is_counted() -> None:
    told = read(urlset(*(f"http://a.test/{number}" for number in range(MAX_URLS + 123))))
    assert (len(told["found"]), told["listed"], told["dropped"]) == (MAX_URLS, MAX_URLS + 123, 123)


def test_what_changed_lately_comes_first_where_the_best_do() -> None:
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    old, new = (
        f"<url><loc>http://a.test/{name}</loc><lastmod>{day}</lastmod></url>"
        for name, day in (("old", "2020-01-01"), ("new", yesterday.isoformat()))
    )
    for order, is_first in (("best", True), ("breadth", False)):
        told = read(f"<urlset {NAMESPACE}>{old}{new}</urlset>", order=order)
        ranks = {each[0]: each[RANK_AT] for each in told["found"]}
        assert (ranks["http://a.test/new"] < ranks["http://a.test/old"]) is is_first


def test_each_address_passes_the_scope() -> None:
    locs = [
        "http://a.test/in/1",
        "http://a.test/out/2",
        "http://b.test/in/3",
        "javascript:alert(1)",
        "http://10.0.0.1/",
    ]
    told = read(urlset(*locs, "http://a.test/in/1"), scope={"include": ["/in/*"]})
    assert [each[0] for each in told["found"]] == ["http://a.test/in/1"]


def test_no_address_of_a_sitemap_looks_like_a_trap() -> None:
    """A sitemap has an end, whatever its addresses look like."""
    locs = ["http://a.test/issue/1650-01-01", "http://a.test/a/a/a/a/a"]
    assert [each[0] for each in read(urlset(*locs))["found"]] == locs


def test_a_list_of_addresses_is_a_sitemap_too() -> None:
    told = read("http://a.test/1\n  http://a.test/2\n\nnonsense\n")
    assert [each[0] for each in told["found"]] == ["http://a.test/1", "http://a.test/2"]


def test_entities_of_html_and_broken_markup_are_read_as_far_as_they_go() -> None:
    told = read(f"<urlset {NAMESPACE}><url><loc>http://a.test/?a=1&amp;b=2</loc></url><url><loc>http://a.test/2</loc>")
    assert [each[0] for each in told["found"]] == ["http://a.test/?a=1&b=2", "http://a.test/2"]


@pytest.mark.parametrize(
    "body, fault",
    [
        (DTD + "<urlset><url><loc>http://a.test/&b;</loc></url></urlset>", "bad_response:xml_dtd"),
        ("<html><p>not found", "bad_response:sitemap"),
        ("", "bad_response:sitemap"),
        (gzip.compress(b"\0" * (50 * 1024 * 1024 + 1)), "limit:body_too_large"),
        (b"\x1f\x8bnonsense", "bad_response:encoding"),
    ],
)
def test_what_is_no_sitemap_or_means_harm_is_refused(body: str | bytes, fault: str) -> None:
    with pytest.raises(NotASitemap) as refused:
        read(body)
    assert refused.value.fault == fault
