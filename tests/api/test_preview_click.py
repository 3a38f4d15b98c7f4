"""Selectors for a clicked element, and repeated items as a recipe that works."""

from typing import Any

import pytest

from tests.engine.crawl.site import Page, serve_site
from tests.stack import Stack

WORDS = "<p>Some words about it.</p>" * 20


def a_list(number: int) -> Page:
    cards = "".join(
        f'<div class="card css-{number}x{place}y3z"><a href="/p/{number}-{place}"><img src="/i/{place}.jpg"></a>'
        f"<h3>Thing {number}-{place}</h3><span class=price>{place}.50 €</span><button>Add to cart</button></div>"
        + ("<div class=ad>Buy more</div>" if place == 2 else "")
        for place in range(5)
    )
    pages = "".join(f'<a href="/list?page={each}">{each}</a>' for each in (1, 2, 3))
    return Page(raw=f"<title>List {number}</title><main><h1>List {number}</h1>{cards}{WORDS}</main><nav>{pages}</nav>")


PAGES = {f"/list?page={number}": a_list(number) for number in (1, 2, 3)} | {"/robots.txt": Page(status=404)}
TABLE = (
    "<title>Rates</title><table><tr><th>Currency<th>Exchange rate</tr><tr><td>Euro<td>1.00</tr>"
    f"<tr><td>Franc<td>0.93</tr><tr><td>Zloty<td>4.27</tr><tr><td>Krone<td>7.46</tr></table>{WORDS}"
)


def preview(stack: Stack, url: str, **said: Any) -> dict[str, Any]:
    answer = stack.client.post("/jobs/preview", json={"url": url, **said})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.parametrize(
    "click",
    [{"css": "main > div:nth-of-type(2) > span"}, {"xpath": "//div[2]/span"}, {"text": "1.50 €"}, {"text": "1.50"}],
)
def test_a_clicked_element_has_selectors_for_it_and_for_all_like_it(stack: Stack, click: dict[str, str]) -> None:
    with serve_site(PAGES) as site:
        found = preview(stack, f"{site.url}/list?page=1", click=click)
    assert (found["clicked"]["tag"], found["clicked"]["text"]) == ("span", "1.50 €")
    alike = next(each for each in found["suggestions"] if each["label"] == "alike")
    assert (alike["css"], alike["all"], alike["matches"]) == ("div.card span.price", True, 5)
    assert alike["values"] == [[f"{place}.50 €" for place in range(5)]] * 3
    assert len(found["pages"]) == 3
    [alone] = [each for each in found["suggestions"] if each["label"] == "element"]
    assert (alone["all"], alone["values"][0]) == (False, "1.50 €")
    assert alone["confidence"] < alike["confidence"]


def test_a_stable_selector_comes_before_a_position_and_a_link_has_its_address(stack: Stack) -> None:
    with serve_site(PAGES) as site:
        heading = preview(stack, f"{site.url}/list?page=1", click={"css": "h1"})["suggestions"][0]
        link = preview(stack, f"{site.url}/list?page=1", click={"css": ".card a"})["suggestions"]
    assert (heading["label"], heading["css"], heading["values"]) == ("element", "h1", ["List 1", "List 2", "List 3"])
    assert f"{site.url}/p/1-0" in [each["sample"] for each in link if each["attr"] == "href"]
    assert not any("css-" in (each["css"] or "") for each in link)


def test_a_clicked_value_behind_a_label_is_selected_by_the_label(stack: Stack) -> None:
    page = Page(raw=f"<title>T</title><h1>T</h1><dl><dt>Ref<dd>A-3<dt>Colour<dd>red</dl>{WORDS}")
    with serve_site({"/robots.txt": Page(status=404), "/thing": page}) as site:
        found = preview(stack, f"{site.url}/thing", click={"text": "red"})["suggestions"]
    best = next(each for each in found if each["label"] == "element")
    assert best["css"] is None
    assert best["xpath"] == '//dt[normalize-space()="Colour"]/following-sibling::dd[1]'
    assert best["values"] == ["red"]


def test_a_click_on_nothing_is_refused(stack: Stack) -> None:
    with serve_site(PAGES) as site:
        for click, code in (
            ({"css": ".none"}, "no_match"),
            ({"text": "not on the page"}, "no_match"),
            ({"css": "p["}, "bad_selector"),
            ({"css": "p", "text": "x"}, "bad_input"),
            ({}, "bad_input"),
        ):
            answer = stack.client.post("/jobs/preview", json={"url": f"{site.url}/list?page=1", "click": click})
            error = answer.json()["error"]
            assert answer.status_code == 422, (click, answer.text)
            if code != "bad_input":
                assert (error["code"], error["field"]) == (code, "click"), (click, error)


@pytest.mark.parametrize(
    "path, first",
    [
        ("/list?page=1", {"title": "Thing 1-0", "link": "/p/1-0", "image": "/i/0.jpg", "price": "0.50 €"}),
        ("/rates", {"currency": "Euro", "exchange_rate": "1.00"}),
    ],
)
def test_the_offered_list_is_a_recipe_that_gives_the_rows(stack: Stack, path: str, first: dict[str, str]) -> None:
    with serve_site({**PAGES, "/rates": Page(raw=TABLE)}) as site:
        [offered, *_] = preview(stack, site.url + path)["lists"]
        expected = {name: site.url + value if value.startswith("/") else value for name, value in first.items()}
        assert offered["rows"][0] == expected
        job = stack.client.post(
            "/jobs", json={"target_url": site.url + path, "fields": [offered["recipe"]], "strategy": "http"}
        )
        assert job.status_code == 200, job.text
        run = stack.wait_for_end(stack.start(job.json())["id"])
        [record] = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
    assert run["status"] == "completed", run
    rows = record["data"]["items"]
    assert (rows[: len(offered["rows"])], len(rows)) == (offered["rows"], offered["count"])
    if path.startswith("/list"):
        assert offered["rows_on"] == [5, 5, 5]


def test_a_page_without_repeated_items_offers_no_list(stack: Stack) -> None:
    with serve_site({"/one": Page(raw="<h1>One</h1><p>text</p>"), "/robots.txt": Page(status=404)}) as site:
        assert preview(stack, f"{site.url}/one")["lists"] == []


@pytest.mark.browser
def test_a_click_in_the_browser_sees_what_scripts_have_drawn(stack: Stack) -> None:
    drawn = "setTimeout(() => app.innerHTML = '<p class=price>7 EUR</p>', 300)"
    raw = f"<title>Late</title><div id=app></div><script>{drawn}</script>"
    with serve_site({"/": Page(raw=raw), "/robots.txt": Page(status=404)}) as site:
        found = preview(stack, f"{site.url}/", click={"text": "7 EUR"}, prefer_browser=True)
    assert (found["fetched_via"], found["suggestions"][0]["css"]) == ("browser", "p.price")
