"""Lists that grow in the browser: buttons, scrolling, pagers without addresses, virtual lists."""

import json
from typing import Any

import pytest

from corral.fetch.browser.launch_args import find_chromium
from tests.engine.crawl.site import Page, Site, serve_site
from tests.stack import Stack

pytestmark = pytest.mark.skipif(not find_chromium(), reason="there is no browser here")

_SHELL = """<!doctype html><title>List</title><body><h1>All there is</h1><ul id=list></ul>{more}<script>
let page = 0, busy = false;
const draw = rows => rows.map(row => `<li><a class=item href="/item/${{row}}">${{row}}</a></li>`).join("");
const load = () => {{
  if (busy || page >= {pages}) return;
  busy = true;
  fetch(`/api/list-${{page}}`).then(answer => answer.json()).then(rows => {{
    const list = document.getElementById("list");
    {put}
    page += 1; busy = false;
    if (page >= {pages}) document.querySelectorAll(".more").forEach(each => each.remove());
  }});
}};
{script}
load();</script>"""
_APPEND = 'list.insertAdjacentHTML("beforeend", draw(rows));'
_REPLACE = "list.innerHTML = draw(rows);"
_ON_PRESS = 'document.querySelectorAll(".more").forEach(each => each.addEventListener("click", load));'
_ON_SCROLL = """addEventListener("scroll", () => {
  if (innerHeight + scrollY > document.body.scrollHeight - 100) load(); });"""


def build_growing_site(pages: int, each: int, more: str, put: str, script: str) -> dict[str, Page]:
    site = {
        "/": Page(raw=_SHELL.format(pages=pages, more=more, put=put, script=script)),
        "/robots.txt": Page(status=404),
    }
    for number in range(pages):
        rows = [f"{number}-{index}" for index in range(each)]
        site[f"/api/list-{number}"] = Page(raw=json.dumps(rows), headers={"content-type": "application/json"})
        site |= {f"/item/{row}": Page(raw=f"<title>Item {row}</title>" + f"<p>all of {row}</p>" * 30) for row in rows}
    return site


def collect(stack: Stack, site: Site, **config: Any) -> tuple[dict[str, Any], set[str]]:
    links = {"item_links": "a.item", **config}
    body = {"target_url": f"{site.url}/", "crawl_mode": "list", "fields": ["title"], "list_config": links}
    answer = stack.client.post("/jobs", json=body)
    assert answer.status_code == 200, answer.text
    run = stack.wait_for_end(stack.start(answer.json())["id"], within_s=120)
    records = stack.client.get(f"/jobs/runs/{run['id']}/records?limit=200").json()
    return run, {record["data"]["url"].partition("/item/")[2] for record in records}


_BUTTON = "<button class=more>Weitere Lampen anzeigen</button>"
SHAPES: dict[str, tuple[dict[str, Page], Any]] = {
    "button": (build_growing_site(4, 3, _BUTTON, _APPEND, _ON_PRESS), "load_more"),
    "button found by itself": (build_growing_site(4, 3, _BUTTON, _APPEND, _ON_PRESS), "auto"),
    "scrolling": (build_growing_site(4, 12, "<p style='height:900px'>", _APPEND, _ON_SCROLL), "scroll"),
    "pager without addresses": (
        build_growing_site(4, 3, "<a href='#' class='more go'>&gt;</a>", _REPLACE, _ON_PRESS),
        {"mode": "load_more", "css": "a.go"},
    ),
    "by XPath": (
        build_growing_site(4, 3, "<span class=more>+</span>", _APPEND, _ON_PRESS),
        {"mode": "load_more", "xpath": "//span[@class='more']"},
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_list_that_grows_in_the_browser_is_collected_to_its_end(stack: Stack, shape: str) -> None:
    pages, pagination = SHAPES[shape]
    items = {path.removeprefix("/item/") for path in pages if path.startswith("/item/")}
    with serve_site(pages) as site:
        run, found = collect(stack, site, pagination=pagination)
    assert (run["status"], found) == ("completed", items), run["stats"]


def test_what_a_bound_cuts_off_is_reported_unless_the_user_set_it(stack: Stack) -> None:
    with serve_site(build_growing_site(12, 2, _BUTTON, _APPEND, _ON_PRESS)) as site:
        cut, twenty = collect(stack, site, pagination="load_more")
        pages, six = collect(stack, site, pagination="load_more", max_pages=3)
        most, five = collect(stack, site, pagination="load_more", max_items=5)
        whole, all_items = collect(stack, site, pagination="load_more", max_pages=12)
    assert (cut["status"], len(twenty), cut["stats"]["left_out"]) == ("partial", 20, {"list_limit": 1})
    assert (pages["status"], len(six)) == ("completed", 6)
    assert (most["status"], len(five)) == ("completed", 5)
    assert (whole["status"], len(all_items)) == ("completed", 24)


@pytest.mark.parametrize("status, expected", [(500, ("partial", {"list_failure": 1})), (404, ("completed", None))])
def test_a_step_whose_call_fails_is_not_the_end_of_the_list(
    stack: Stack, status: int, expected: tuple[str, dict[str, int] | None]
) -> None:
    pages = build_growing_site(4, 3, _BUTTON, _APPEND, _ON_PRESS)
    pages["/api/list-2"] = Page(status=status, raw="{}", headers={"content-type": "application/json"})
    with serve_site(pages) as site:
        run, found = collect(stack, site, pagination="load_more")
    assert (run["status"], run["stats"].get("left_out") or None) == expected
    assert len(found) == 6


_VIRTUAL = """<title>List</title><body style="margin:0">
<div id=box style="position:relative;height:{height}px"></div><script>
const draw = () => {{
  const first = Math.max(0, Math.floor(scrollY / 60) - 3), last = Math.min({count}, first + 20), html = [];
  for (let n = first; n < last; n++)
    html.push(`<div style="position:absolute;top:${{n * 60}}px">
      <a class=item href="/item/${{n}}">item ${{n}}</a></div>`);
  document.getElementById("box").innerHTML = html.join("");
}};
addEventListener("scroll", () => requestAnimationFrame(draw)); draw();</script>"""


def test_items_that_leave_the_document_while_it_is_scrolled_are_collected(stack: Stack) -> None:
    pages = {f"/item/{n}": Page(raw=f"<title>Item {n}</title>" + f"<p>all of {n}</p>" * 30) for n in range(120)}
    pages["/"] = Page(raw=_VIRTUAL.format(count=120, height=7200))
    with serve_site(pages) as site:
        run, found = collect(stack, site, pagination="scroll")
    assert (run["status"], len(found)) == ("completed", 120), run["stats"]
