"""Jobs over many pages: the items of a list, page after page, and whole sites."""

from typing import Any

import pytest

from tests.engine.crawl.site import Page, Site, serve_site
from tests.stack import Stack

PRICED = {"name": "price", "css": ".price"}
LIST: dict[str, Any] = {"crawl_mode": "list", "fields": ["title", PRICED]}
LINKS = {"item_links": "h2 > a", "pagination": "a.next"}


def a_shop(lists: int = 3, each: int = 4) -> dict[str, Page]:
    """Pages of a list with links to items, and other links that nobody asked for."""
    pages: dict[str, Page] = {"/about": Page(), "/robots.txt": Page(status=404)}
    for number in range(1, lists + 1):
        items = [f"/item/{number}-{place}" for place in range(each)]
        links = "".join(f'<h2><a href="{item}">{item}</a></h2>' for item in items)
        following = f'<a class="next" href="/list?page={number + 1}">more</a>' if number < lists else ""
        pages[f"/list?page={number}"] = Page(raw=f'<title>List</title><a href="/about">about</a>{links}{following}')
        for item in items:
            words = f"<p>What there is to say of {item}.</p>" * 20
            pages[item] = Page(raw=f"<title>Item {item}</title><b class=price>{item[-1]}.50</b>{words}")
    return pages


def collect(stack: Stack, job: dict[str, Any], **overrides: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    run = stack.wait_for_end(stack.start(job, **overrides)["id"])
    records = stack.client.get(f"/jobs/runs/{run['id']}/records?limit=200").json()
    return run, [record["data"] for record in records]


def a_job(stack: Stack, site: Site, path: str = "/list?page=1", **said: Any) -> dict[str, Any]:
    answer = stack.client.post("/jobs", json={"target_url": site.url + path, **LIST, **said})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_the_items_of_a_list_are_collected_page_after_page(stack: Stack) -> None:
    with serve_site(a_shop()) as site:
        job = a_job(stack, site, list_config=LINKS)
        run, records = collect(stack, job)
    link = {"css": "h2 > a", "attr": "href"}
    assert job["list_config"] == {
        "item_links": link,
        "pagination": {"css": "a.next", "attr": "href"},
        "max_pages": 10,
        "max_items": 500,
    }
    assert (run["status"], run["kind"], run["job_id"], run["requested_strategy"]) == (
        "completed",
        "crawl",
        job["id"],
        "auto",
    )
    assert (run["progress"]["done"], run["progress"]["failed"]) == (12, 0)
    items = {f"{site.url}/item/{number}-{place}" for number in (1, 2, 3) for place in range(4)}
    assert {record["url"] for record in records} == items
    assert all(set(record) == {"url", "title", "price"} for record in records)
    assert {record["price"] for record in records} == {"0.50", "1.50", "2.50", "3.50"}
    assert site.hits["/about"] == 0
    assert stack.client.get(f"/jobs/{job['id']}").json()["status"] == "completed"


@pytest.mark.parametrize(
    "config, items, lists",
    [({"max_pages": 2}, 8, 2), ({"max_items": 5}, 5, 2), ({"max_items": 4}, 4, 1), ({"pagination": None}, 4, 1)],
)
def test_a_list_has_as_many_pages_and_items_as_are_asked_for(
    stack: Stack, config: dict[str, Any], items: int, lists: int
) -> None:
    with serve_site(a_shop()) as site:
        run, records = collect(stack, a_job(stack, site, list_config={**LINKS, **config}))
    assert (run["status"], len(records)) == ("completed", items)
    assert sum(site.hits[f"/list?page={number}"] > 0 for number in (1, 2, 3)) == lists


def test_an_item_that_fails_makes_it_partial_and_a_list_that_fails_makes_it_fail(stack: Stack) -> None:
    shop = a_shop()
    shop["/item/1-0"] = Page(status=400)
    shop["/item/1-1"] = Page(raw="<p>nothing that was asked for</p>" * 20)
    with serve_site(shop) as site:
        run, records = collect(stack, a_job(stack, site, list_config=LINKS))
        assert (run["status"], len(records), run["progress"]["failed"]) == ("partial", 10, 2)
        site.pages["/list?page=2"] = Page(status=404)
        again, fewer = collect(stack, a_job(stack, site, list_config=LINKS))
        assert (again["status"], len(fewer), again["progress"]["failed"]) == ("partial", 2, 3)
        job = a_job(stack, site, list_config=LINKS)
        site.pages["/list?page=1"] = Page(status=404)
        gone, none = collect(stack, job)
    assert (gone["status"], gone["failure_code"], none) == ("failed", "bad_response", [])


def test_a_list_that_names_nothing_fails_and_says_so(stack: Stack) -> None:
    with serve_site(a_shop()) as site:
        run, records = collect(stack, a_job(stack, site, list_config={"item_links": "h2 > em > a"}))
    assert (run["status"], run["failure_code"], run["failure_detail"]) == ("failed", "extraction", "item_links")
    assert "item_links (h2 > em > a) matches no link" in run["error_message"]
    assert records == []


def test_fields_that_hardly_any_item_has_are_named(stack: Stack) -> None:
    fields = ["title", {"name": "zzz", "css": ".zzz"}, {"name": "some", "css": ".some"}]
    shop = a_shop(lists=1)
    shop["/item/1-0"] = Page(raw="<title>x</title><b class=some>here</b>" + "<p>some words</p>" * 30)
    shop["/item/1-1"] = shop["/item/1-0"]
    with serve_site(shop) as site:
        run, records = collect(stack, a_job(stack, site, list_config=LINKS, fields=fields))
        assert (run["status"], len(records)) == ("partial", 4)
        assert run["stats"]["empty_fields"] == {"zzz": 4}
        assert run["stats"]["problems"]["missing"] == ["zzz"]
        table = stack.client.get(f"/jobs/runs/{run['id']}/export?format=csv").text
    assert table.splitlines()[0] == "url,title,zzz,some"


def test_a_list_that_its_items_link_back_to_is_no_item(stack: Stack) -> None:
    shop = a_shop(lists=2)
    for path, page in shop.items():
        if path.startswith("/item"):
            page.raw = f'{page.raw!s}<a href="/list?page=1">back</a><a href="/list?page=2">list</a>'
    shop["/item/1-0"] = Page(status=302, headers={"location": "/list?page=1"}, raw="")
    shop["/list?page=1"].raw = f'<h2><a href="/list?page=1">this list</a></h2>{shop["/list?page=1"].raw!s}'
    with serve_site(shop) as site:
        run, records = collect(stack, a_job(stack, site, list_config=LINKS))
    assert (run["status"], len(records), run["progress"]["failed"]) == ("partial", 7, 1)
    assert all("/item/" in record["url"] for record in records)
    assert run["stats"]["reasons"] == {"listing": 2, "extraction:redirected_to_list": 1}


def test_a_list_that_goes_on_beyond_a_bound_that_nobody_set_is_not_complete(stack: Stack) -> None:
    with serve_site(a_shop(lists=12, each=1)) as site:
        run, records = collect(stack, a_job(stack, site, list_config=LINKS))
        assert (run["status"], len(records), run["stats"]["left_out"]) == ("partial", 10, {"list_limit": 1})
        assert run["stats"]["left_out_examples"]["list_limit"].endswith("page=10")
        run, records = collect(stack, a_job(stack, site, list_config={**LINKS, "max_pages": 10}))
        assert (run["status"], len(records)) == ("completed", 10)
        site.pages["/list?page=2"].raw = '<p>no items</p><a class="next" href="/list?page=3">more</a>'
        run, records = collect(stack, a_job(stack, site, list_config={**LINKS, "max_pages": 20}))
        assert (run["status"], len(records), run["stats"]["left_out"]) == ("partial", 11, {"empty_list_page": 1})


def test_items_elsewhere_are_read_where_their_domain_is_allowed(stack: Stack) -> None:
    with serve_site(
        {"/x": Page(raw="<title>There</title><b class=price>9</b>" + "<p>words of its own</p>" * 30)}
    ) as there:
        away = there.url.replace("127.0.0.1", "localhost")
        links = f'<h2><a href="{away}/x">x</a></h2><h2><a href="/item/1-0">y</a></h2>'
        with serve_site({**a_shop(), "/list?page=1": Page(raw=links)}) as site:
            plain, near = collect(stack, a_job(stack, site, list_config=LINKS))
            config = {**LINKS, "allowed_domains": ["localhost"]}
            wide, far = collect(stack, a_job(stack, site, list_config=config))
    assert (plain["status"], [record["title"] for record in near]) == ("completed", ["Item /item/1-0"])
    assert wide["status"] == "completed"
    assert {record["title"] for record in far} == {"There", "Item /item/1-0"}


def test_a_site_is_collected_from_page_to_page_and_brings_records_of_pages_with_the_fields(stack: Stack) -> None:
    with serve_site(a_shop()) as site:
        job = a_job(stack, site, crawl_mode="crawl", fields=[PRICED])
        run, records = collect(stack, job)
        few = a_job(stack, site, crawl_mode="crawl", fields=[PRICED], list_config={"max_pages": 3})
        short, _ = collect(stack, few)
    assert (run["status"], len(records), run["progress"]["done"]) == ("completed", 12, 12)
    assert all(set(record) == {"url", "price"} for record in records)
    assert site.hits["/about"] > 0
    assert short["progress"]["done"] + short["progress"]["failed"] <= 3


def test_what_does_not_go_together_is_refused_with_the_field_named(stack: Stack) -> None:
    refused: list[tuple[str, dict[str, Any]]] = [
        ("list_config", {}),
        ("list_config.item_links", {"list_config": {"max_pages": 3}}),
        ("list_config.item_links", {"list_config": {"item_links": "h2 >> a"}}),
        ("list_config.pagination", {"list_config": {"item_links": "a", "pagination": "["}}),
        ("list_config.max_items", {"list_config": {"item_links": "a", "max_items": 0}}),
        ("list_config.max_pages", {"list_config": {"item_links": "a", "max_pages": "3"}}),
        ("list_config.pages", {"list_config": {"item_links": "a", "pages": 3}}),
        ("list_config", {"crawl_mode": "single", "list_config": LINKS}),
        ("list_config.item_links", {"crawl_mode": "crawl", "list_config": LINKS}),
    ]
    for field, said in refused:
        answer = stack.client.post("/jobs", json={"target_url": f"{stack.site}/articles", **LIST, **said})
        assert answer.status_code == 422, (field, answer.text)
        assert answer.json()["error"]["field"].startswith(field), (field, answer.text)


def test_a_job_becomes_a_list_and_is_none_any_more(stack: Stack) -> None:
    with serve_site(a_shop(lists=1)) as site:
        job = a_job(stack, site, crawl_mode="single")
        changed = stack.client.patch(f"/jobs/{job['id']}", json={"crawl_mode": "list", "list_config": LINKS})
        assert (changed.status_code, changed.json()["crawl_mode"]) == (200, "list"), changed.text
        run, records = collect(stack, job)
        assert (run["status"], len(records)) == ("completed", 4)
        copy = stack.client.post(f"/jobs/{job['id']}/clone").json()
        assert (copy["crawl_mode"], copy["list_config"]) == ("list", changed.json()["list_config"])
        again = stack.client.post(f"/jobs/runs/{run['id']}/retry").json()
        assert stack.wait_for_end(again["id"])["progress"]["done"] == 4
        back = stack.client.patch(f"/jobs/{job['id']}", json={"crawl_mode": "single", "list_config": None})
        assert (back.json()["crawl_mode"], back.json()["list_config"]) == ("single", None)
        single, of_list = collect(stack, job)
    assert (single["kind"], len(of_list)) == ("page", 1)
