"""Lists that go on: numbered pages, next links in many languages, offsets, gaps, failing and repeated pages."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.crawl.site import Page, Site, serve_site
from tests.stack import Stack

ITEMS = {"item_links": "article h2 > a"}


def an_item(name: str) -> Page:
    return Page(raw=f"<title>Item {name}</title><h1>{name}</h1>" + f"<p>What there is to say of {name}.</p>" * 20)


def list_page(names: list[str], pager: str, top: str = "") -> Page:
    items = "".join(f'<article><h2><a href="/item/{name}">{name}</a></h2><p>text</p></article>' for name in names)
    return Page(raw=f"<title>List</title><a href='/about'>About</a>{top}<main>{items}</main>{pager}")


def a_list(address: Callable[[int], str], pager: Callable[[int], str], pages: int, each: int = 2) -> dict[str, Page]:
    site = {"/robots.txt": Page(status=404), "/about": Page()}
    for number in range(1, pages + 1):
        names = [f"{number}-{index}" for index in range(each)]
        site[address(number)] = list_page(names, pager(number))
        site |= {f"/item/{name}": an_item(name) for name in names}
    return site


def collect(
    stack: Stack, site: Site, path: str, config: dict[str, Any], **said: Any
) -> tuple[dict[str, Any], set[str]]:
    body = {"target_url": site.url + path, "crawl_mode": "list", "fields": ["title"], "list_config": config, **said}
    answer = stack.client.post("/jobs", json=body)
    assert answer.status_code == 200, answer.text
    run = stack.wait_for_end(stack.start(answer.json())["id"])
    records = stack.client.get(f"/jobs/runs/{run['id']}/records?limit=200").json()
    return run, {record["data"]["url"].partition("/item/")[2] for record in records}


def number_pages(address: Callable[[int], str], shown: Callable[[int], list[int]]) -> Callable[[int], str]:
    def pager(own: int) -> str:
        parts = [f"<b>{n}</b>" if n == own else f'<a href="{address(n)}">{n}</a>' for n in shown(own)]
        return f"<div class='z'>{' '.join(parts)}</div>"

    return pager


def by_page(number: int) -> str:
    return "/list" if number == 1 else f"/list?page={number}"


def by_offset(number: int) -> str:
    return "/s?q=x" if number == 1 else f"/s?q=x&start={(number - 1) * 20}"


def by_folder(number: int) -> str:
    return "/blog/" if number == 1 else f"/blog/page/{number}/"


def by_file(number: int) -> str:
    return "/shop/lamps.html" if number == 1 else f"/shop/lamps-{number}.html"


def from_zero(number: int) -> str:
    return f"/c?sort=new&cp={number - 1}"


@pytest.mark.parametrize("address", [by_page, by_offset, by_folder, by_file, from_zero])
def test_numbered_pages_are_followed_through_gaps_to_the_last(stack: Stack, address: Callable[[int], str]) -> None:
    pager = number_pages(address, lambda own: sorted({1, 2, own, 7}))
    with serve_site(a_list(address, pager, 7)) as site:
        run, items = collect(stack, site, address(1), ITEMS)
    assert (run["status"], len(items)) == ("completed", 14), run
    pages = {path: count for path, count in site.hits.items() if "/item/" not in path and path != "/robots.txt"}
    assert pages.pop(address(1)) == 2  # the check of the new job requests it, too
    assert pages == {address(number): 1 for number in range(2, 8)}


@pytest.mark.parametrize(
    "link",
    [
        '<link rel="next" href="{}">',
        '<a rel="next nofollow" href="{}">1 2 3</a>',
        '<a href="{}">Nächste Seite »</a>',
        '<a href="{}"><span>次へ</span></a>',
        '<a href="{}" aria-label="Page suivante"><svg></svg></a>',
        '<a href="{}" title="Следующая страница">→</a>',
        '<nav class="pagination"><a href="/list">‹</a><a href="{}">›</a></nav>',
        '<li class="next"><a href="{}"><i class="icon"></i></a></li>',
        '<a href="{}">Older posts</a>',
    ],
)
def test_the_next_link_is_recognised(stack: Stack, link: str) -> None:
    with serve_site(
        a_list(lambda n: f"/l/{'abc'[n - 1]}", lambda n: link.format(f"/l/{'abc'[n]}") if n < 3 else "", 3)
    ) as site:
        run, items = collect(stack, site, "/l/a", {**ITEMS, "pagination": "auto"})
    assert (run["status"], len(items)) == ("completed", 6), run["stats"]


def test_numbers_that_count_no_pages_are_not_followed(stack: Stack) -> None:
    years = " ".join(f'<a href="/list/{year}">{year}</a>' for year in (2022, 2023, 2024))
    sizes = " ".join(f'<a href="/list?limit={size}">{size}</a>' for size in (20, 50, 100))
    stars = " ".join(f'<a href="/list?stars={star}">{star}</a>' for star in range(1, 6))
    days = " ".join(f'<a href="/2026/05/{day}">{day}</a>' for day in range(1, 31))
    following = '<a class="next" href="/about">Next: the story of our shop</a>'
    with serve_site({"/list": list_page(["a", "b"], years + sizes + stars + days + following)}) as site:
        site.pages |= {"/item/a": an_item("a"), "/item/b": an_item("b")}
        run, items = collect(stack, site, "/list", ITEMS)
    assert (run["status"], items) == ("completed", {"a", "b"})
    assert not [path for path in site.hits if path not in ("/list", "/robots.txt") and "/item/" not in path]


@pytest.mark.parametrize("ending", ["empty", "repeated", "missing", "first"])
def test_numbers_count_on_without_links_until_the_list_ends(stack: Stack, ending: str) -> None:
    pages = a_list(lambda n: f"/list?page={n}", lambda _: "", 4)
    last = {
        "empty": list_page([], ""),
        "repeated": pages["/list?page=4"],
        "missing": Page(status=404),
        "first": Page(status=302, headers={"location": "/list?page=1"}, raw=""),
    }
    pages |= {f"/list?page={number}": last[ending] for number in range(5, 9)}
    with serve_site(pages) as site:
        run, items = collect(stack, site, "/list?page=1", {**ITEMS, "pagination": "numbers", "max_pages": 50})
    assert (run["status"], len(items), run["progress"]["failed"]) == ("completed", 8, 0), run["stats"]
    assert site.hits["/list?page=5"] == 1
    assert site.hits["/list?page=6"] == 0


def test_the_parameter_that_counts_can_be_named(stack: Stack) -> None:
    pages = a_list(lambda n: "/find" if n == 1 else f"/find?von={(n - 1) * 10}", lambda _: "", 3)
    config = {**ITEMS, "pagination": {"mode": "numbers", "param": "von", "step": 10}}
    with serve_site({**pages, "/find?von=30": list_page([], "")}) as site:
        run, items = collect(stack, site, "/find", config)
    assert (run["status"], len(items)) == ("completed", 6)


def test_a_numbered_page_that_fails_is_named_and_the_later_ones_are_read(stack: Stack) -> None:
    pages = a_list(by_page, number_pages(by_page, lambda own: [own, own + 1] if own < 5 else [1]), 5)
    pages["/list?page=3"] = Page(status=400)
    with serve_site(pages) as site:
        run, items = collect(stack, site, "/list", {**ITEMS, "pagination": "numbers"})
        failed = stack.client.get(f"/scraping/tasks/{run['id']}/pages?state=failed").json()
    assert (run["status"], len(items), run["progress"]["failed"]) == ("partial", 8, 1)
    assert "/list?page=3" in str(failed)


def test_items_on_every_page_are_collected_once_and_do_not_use_up_the_maximum(stack: Stack) -> None:
    sticky = '<article><h2><a href="/item/top?utm_source=list#x">top</a></h2></article>'
    pages = a_list(by_page, number_pages(by_page, lambda _: [1, 2, 3]), 3)
    for number in (1, 2, 3):
        page = pages[by_page(number)]
        page.raw = str(page.raw).replace("<main>", f"<main>{sticky}")
    with serve_site({**pages, "/item/top?utm_source=list": an_item("top")}) as site:
        run, items = collect(stack, site, "/list", {**ITEMS, "max_items": 7})
    assert (run["status"], len(items)) == ("completed", 7)
    assert site.hits["/item/top?utm_source=list"] == 1


def test_a_bound_of_ours_is_reported_and_a_bound_of_the_user_is_not(stack: Stack) -> None:
    pages = a_list(by_page, number_pages(by_page, lambda own: [own, own + 1] if own < 12 else [1]), 12, each=1)
    with serve_site(pages) as site:
        cut, ten = collect(stack, site, "/list", ITEMS)
        asked, three = collect(stack, site, "/list", {**ITEMS, "max_pages": 3})
    assert (cut["status"], len(ten), cut["stats"]["left_out"]) == ("partial", 10, {"list_limit": 1})
    assert (asked["status"], len(three)) == ("completed", 3)


def test_without_pagination_it_is_auto_and_null_is_the_first_page(stack: Stack) -> None:
    with serve_site(a_list(by_page, number_pages(by_page, lambda _: [1, 2]), 2)) as site:
        body = {"target_url": f"{site.url}/list", "crawl_mode": "list", "fields": ["title"], "list_config": ITEMS}
        job = stack.client.post("/jobs", json=body).json()
        assert job["list_config"]["pagination"] == {"mode": "auto"}
        for said in (None, "none"):
            run, items = collect(stack, site, "/list", {**ITEMS, "pagination": said})
            assert (run["status"], len(items)) == ("completed", 2)


def test_pagination_that_cannot_work_is_refused_with_the_field_named(stack: Stack) -> None:
    refused: list[tuple[Any, dict[str, Any]]] = [
        ("", {"pagination": {"mode": "sideways"}}),
        ("", {"pagination": {"mode": "scroll", "css": "a"}}),
        (".step", {"pagination": {"mode": "next", "step": 2}}),
        (".param", {"pagination": {"mode": "numbers", "step": 2}}),
        ("", {"pagination": {}}),
        ("", {"pagination": {"mode": "load_more", "css": "["}}),
    ]
    body = {"target_url": f"{stack.site}/articles", "crawl_mode": "list", "fields": ["title"]}
    for field, config in refused:
        answer = stack.client.post("/jobs", json={**body, "list_config": {**ITEMS, **config}})
        assert answer.status_code == 422, (config, answer.text)
        assert answer.json()["error"]["field"].startswith("list_config.pagination"), answer.text
        assert field in answer.json()["error"]["field"]
    http = {**body, "strategy": "http", "list_config": {**ITEMS, "pagination": "scroll"}}
    assert "needs a browser" in stack.client.post("/jobs", json=http).json()["error"]["message"]
