"""The list wizard proposes item links and pagination, and checks what is given."""

from typing import Any

import pytest

from tests.engine.crawl.site import Page, Site, serve_site
from tests.stack import Stack

_NAV = "<nav><ul>" + "".join(f'<li><a href="/menu/{n}">Menu entry {n}</a></li>' for n in range(9)) + "</ul></nav>"


def cards() -> str:
    return "".join(
        f'<div class="card product"><a href="/p/lamp-{n}"><img src="/i/{n}.png"></a><h3><a href="/p/lamp-{n}">Lamp '
        f'number {n}</a></h3><a class="brand" href="/brand/acme">Acme</a><span class="price">{n}.00 €</span></div>'
        for n in range(12)
    )


def rows() -> str:
    lines = "".join(
        f'<tr><td>{n}</td><td><a href="/jobs/view?id={n}00">Engineer of kind {n}</a></td><td>Berlin</td></tr>'
        for n in range(1, 9)
    )
    return f"<table><thead><tr><th>#</th><th>Job</th><th>Place</th></tr></thead><tbody>{lines}</tbody></table>"


def headlines() -> str:
    return "".join(
        f'<article><h2><a href="/2026/11/story-of-the-day-{n}/">A headline with number {n}</a></h2><p>Some text of it, '
        f'as a teaser.</p><a href="/author/ann">Ann</a> '
        f'<a href="/2026/11/story-of-the-day-{n}/#comments">3</a></article>'
        for n in range(10)
    )


_NUMBERS = '<div class=pages><b>1</b> <a href="?page=2">2</a> <a href="?page=3">3</a> … <a href="?page=40">40</a></div>'
_OLDER = '<a class="older" href="/page/2/">Older posts</a>'
_MORE = "<button>Mehr Stellen laden</button>"


def look(stack: Stack, site: Site, **said: Any) -> dict[str, Any]:
    answer = stack.client.post("/jobs/list-wizard/validate", json={"url": f"{site.url}/", **said})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.parametrize(
    "body, pager, first, count, mode, pages",
    [
        (cards, _NUMBERS, "/p/lamp-0", 12, "numbers", ["?page=2", "?page=3", "?page=4", "?page=5", "?page=6"]),
        (rows, _MORE, "/jobs/view?id=100", 8, "load_more", []),
        (headlines, _OLDER, "/2026/11/story-of-the-day-0/", 10, "next", ["page/2/"]),
    ],
    ids=["shop", "table", "blog"],
)
def test_items_and_pagination_are_proposed_and_work_as_they_are(  # noqa: PLR0917
    stack: Stack, body: Any, pager: str, first: str, count: int, mode: str, pages: list[str]
) -> None:
    html = f"<title>List</title>{_NAV}<main>{body()}{pager}</main><footer><a href='/imprint'>Imprint</a></footer>"
    with serve_site({"/": Page(raw=html)}) as site:
        proposed = look(stack, site)
        best, paging = proposed["item_links_proposals"][0], proposed["pagination_proposals"][0]
        assert (best["sample_item_urls"][0], best["item_count"]) == (site.url + first, count), proposed
        assert (paging["pagination"], paging["page_urls"]) == (mode, [f"{site.url}/{page}" for page in pages])
        assert (proposed["item_count_estimate"], proposed["page_urls"]) == (count, paging["page_urls"])
        checked = look(stack, site, item_links=best["item_links"], pagination=paging["pagination"])
    assert (checked["item_count_estimate"], checked["page_urls"], checked["item_links_proposals"]) == (
        count,
        paging["page_urls"],
        [],
    )
    assert checked["warnings"] == []
    assert checked["next_page_url"] == (paging["page_urls"] or [None])[0]


def test_what_is_odd_about_the_given_selectors_is_told(stack: Stack) -> None:
    with serve_site({"/": Page(raw=f"<title>x</title>{_NAV}<main>{headlines()}</main>")}) as site:
        menu = look(stack, site, item_links="li a")
        assert "item_links matches the navigation of the page: 9 of 9" in " ".join(menu["warnings"])
        nothing = look(stack, site, item_links="li b a")
        assert "item_links matches nothing on this page" in nothing["warnings"]
        last = look(stack, site, item_links="h2 a", pagination="numbers")
        assert "no next page was recognised" in " ".join(last["warnings"])
        named = look(stack, site, item_links="h2 a", pagination={"mode": "numbers", "param": "offset", "step": 10})
        assert named["page_urls"] == [f"{site.url}/?offset=10"]
    with serve_site({"/": Page(raw="<title>x</title><p>" + "nothing but words " * 50)}) as site:
        assert "no repeated items" in " ".join(look(stack, site)["warnings"])
    wrong = {"url": f"{stack.site}/articles", "item_links": "a", "pagination": {"mode": "scroll", "css": "a"}}
    assert stack.client.post("/jobs/list-wizard/validate", json=wrong).status_code == 422
