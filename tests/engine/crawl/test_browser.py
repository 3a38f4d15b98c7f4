"""Pages that need their scripts, through a real browser."""

import asyncio
import re
from typing import Any

import pytest

from corral.domain.crawl.crawl import ItemState
from corral.domain.runs.run import Run, RunState
from corral.fetch.browser.launch_args import find_chromium
from corral.wiring.app import App
from tests.cli.command import Corral
from tests.engine.crawl.crawling import reasons, records, start, wait_for_crawl
from tests.engine.crawl.site import Page, Site, serve_site, words_of
from tests.slack import SLACK

pytestmark = [
    pytest.mark.skipif(not find_chromium(), reason="there is no browser here"),
    pytest.mark.asyncio(loop_scope="module"),
]

_FILL = """<title>{title}</title><div id=root></div><script>
fetch("/api{path}").then(answer => answer.json()).then(told => {{
  const links = told.links.map(link => `<a href="${{link}}">${{link}}</a>`).join(" ");
  document.getElementById("root").innerHTML = `<main><h1>${{told.title}}</h1><p>${{told.text}}</p>${{links}}</main>`;
}});</script>"""


def _app(pages: dict[str, list[str]]) -> dict[str, Page]:
    """An application: each of its pages is filled by a call."""
    made: dict[str, Page] = {}
    for name, links in pages.items():
        path = f"/app/{name}"
        made[path] = Page(raw=_FILL.format(title=name, path=path))
        told = {"title": f"All of {name}", "text": words_of(name, 80), "links": links}
        made[f"/api{path}"] = Page(raw=str(told).replace("'", '"'), headers={"content-type": "application/json"})
    return made


async def crawl(app: App, site: Site, path: str = "/", **options: Any) -> tuple[Run, dict[str, dict[str, Any]]]:
    run = await wait_for_crawl(app, await start(app, f"{site.url}{path}", **options), within_s=90 * SLACK)
    return run, await records(app, run.id, site.url)


async def test_pages_that_are_empty_without_scripts_are_rendered(shared_app: App) -> None:
    pages = {
        "/": Page(["/app/1", "/plain"]),
        "/plain": Page(),
        **_app({"1": ["/app/2", "/app/3"], "2": [], "3": ["/plain2"]}),
        "/plain2": Page(),
    }
    with serve_site(pages) as site:
        run, found = await crawl(shared_app, site)
        assert run.state is RunState.COMPLETED, run.stats
        assert set(found) == {"/", "/plain", "/plain2", "/app/1", "/app/2", "/app/3"}
        assert found["/app/2"]["full_text"].startswith("All of 2")
        # The second page of the template goes to the browser at once.
        assert (site.hits["/app/1"], site.hits["/app/2"], site.hits["/app/3"]) == (2, 1, 1)
        assert site.hits["/plain"] == 1
        run, found = await crawl(shared_app, site, browser_pages=1)
        assert run.state is RunState.PARTIAL
        assert run.stats["left_out"] == {"application_shell": 2}


async def test_over_http_alone_they_are_named_and_the_crawl_is_not_complete(shared_app: App) -> None:
    pages = {"/": Page(["/app/1", "/blank"]), **_app({"1": ["/app/2"]})}
    pages["/blank"] = Page(raw="<title>x</title><div></div><script src=/main.js></script>")
    with serve_site(pages) as site:
        run, found = await crawl(shared_app, site, strategy="http")
        assert (run.state, run.stats["left_out"]) == (RunState.PARTIAL, {"application_shell": 2})
        assert set(found) == {"/", "/app/1", "/blank"}
        assert await reasons(shared_app, run.id) == {"application_shell": 2}
        done = await shared_app.store.crawls.items(run.id, ItemState.DONE, 0, 10)
        assert any("--strategy auto" in (each.message or "") for each in done)
        run, found = await crawl(shared_app, site, path="/app/1", strategy="browser", max_depth=1)
        assert found["/app/1"]["full_text"].startswith("All of 1")


async def test_a_browser_meets_files_data_and_redirects(shared_app: App) -> None:
    pages = {
        "/": Page(["/paper.pdf", "/data", "/moved"]),
        "/paper.pdf": Page(raw=b"%PDF \0", headers={"content-type": "application/pdf"}),
        "/data": Page(raw='{"next": "/linked"}', headers={"content-type": "application/json"}),
        "/linked": Page(headers={"X-Robots-Tag": "noindex"}),
        "/moved": Page(status=302, headers={"location": "/there"}),
        "/there": Page(),
    }
    with serve_site(pages) as site:
        run, found = await crawl(shared_app, site, strategy="browser", save_files=True)
        assert run.state is RunState.COMPLETED, run.stats
        assert set(found) == {"/", "/paper.pdf", "/data", "/there"}
        assert found["/paper.pdf"]["size"] == 6
        assert await reasons(shared_app, run.id) == {"noindex": 1}


_SCROLL = """<title>feed</title><main><h1>A list of {most}</h1><ul id=list>{first}</ul>{button}</main><script>
let next = 10, busy = false;
async function more() {{
  if (busy || next >= {most}) return;
  busy = true;
  const page = await (await fetch("/more?from=" + next)).json();
  for (const each of page) {{
    const item = document.createElement("li");
    item.innerHTML = `<a href="/item/${{each}}">item ${{each}}</a><p style="height: 150px">text</p>`;
    document.getElementById("list").append(item);
  }}
  next += 10;
  busy = false;
  const button = document.querySelector("button");
  if (button && next >= {most}) button.remove();
}}
{listens}</script>"""
_ON_SCROLL = (
    'addEventListener("scroll", () => { if (scrollY + innerHeight > document.body.scrollHeight - 50) more(); });'
)
_ON_PRESS = 'document.querySelector("button").addEventListener("click", more);'


def _feed(most: int, listens: str, button: str = "") -> dict[str, Page]:
    first = "".join(f'<li><a href="/item/{n}">item {n}</a><p style="height: 150px">text</p></li>' for n in range(10))
    pages = {"/": Page(raw=_SCROLL.format(most=most, first=first, listens=listens, button=button))}
    pages |= {f"/item/{number}": Page() for number in range(most)}
    for start_ in range(10, most, 10):
        told = str(list(range(start_, start_ + 10)))
        pages[f"/more?from={start_}"] = Page(raw=told, headers={"content-type": "application/json"}, takes_s=0.1)
    return pages


@pytest.mark.parametrize(
    "listens, button", [(_ON_SCROLL, ""), (_ON_PRESS, "<button>Load more</button>")], ids=["scroll", "press"]
)
async def test_a_list_that_goes_on_when_it_is_scrolled_is_read_to_its_end(
    shared_app: App, listens: str, button: str
) -> None:
    with serve_site(_feed(50, listens, button)) as site:
        # It is no shell, and its script gives it away.
        run, _ = await crawl(shared_app, site, max_pages=1, max_depth=1)
        counts = (await shared_app.store.crawls.get(run.id)).counts
        assert (run.state, counts.pending) == (RunState.COMPLETED, 50), run.stats
        run, _ = await crawl(shared_app, site, strategy="browser", max_pages=1, max_depth=1, max_scrolls=2)
        counts = (await shared_app.store.crawls.get(run.id)).counts
        assert (run.state, run.stats["left_out"]) == (RunState.PARTIAL, {"scroll_limit": 1})
        assert counts.pending == 30


# Rows are placed in a spacer of the height of all of them; those out of sight are taken out of the document.
_VIRTUAL = """<title>rows</title><style>[data-box] {{ {box} }} [data-rows] {{ position: relative; height: {height}px; }}
.row {{ position: absolute; height: 60px; width: 100%; }}</style>
<main><h1>All rows</h1><div>a</div><div>b</div><div>c</div><div>d</div>
<div><div data-box><div data-rows></div></div></div>
</main><script>
const rows = document.querySelector("[data-rows]"), box = document.querySelector("[data-box]"), inner = {inner};
const cells = n => [0, 1, 2, 3, 4, 5].map(each => `<span>cell ${{n}}-${{each}}.</span>`).join(" ");
function draw() {{
  const top = inner ? box.scrollTop : Math.max(0, scrollY - rows.offsetTop);
  const first = Math.max(0, Math.floor(top / 60) - 3), last = Math.min({count}, first + 20);
  const html = [];
  for (let n = first; n < last; n++)
    html.push(`<div class=row style="top: ${{n * 60}}px"><a href="/item/${{n}}">item</a> ${{cells(n)}}</div>`);
  rows.innerHTML = html.join("");
}}
(inner ? box : window).addEventListener("scroll", () => requestAnimationFrame(draw));
draw();</script>"""


def _virtual(count: int, *, is_inner: bool) -> dict[str, Page]:
    box = "height: 500px; overflow-y: auto;" if is_inner else ""
    raw = _VIRTUAL.format(box=box, height=60 * count, inner=str(is_inner).lower(), count=count)
    return {"/": Page(raw=raw), **{f"/item/{number}": Page() for number in range(count)}}


@pytest.mark.parametrize("is_inner", [False, True], ids=["window", "box"])
async def test_a_list_that_removes_rows_out_of_sight_is_collected_whole(shared_app: App, *, is_inner: bool) -> None:
    with serve_site(_virtual(200, is_inner=is_inner)) as site:
        options: dict[str, Any] = {"strategy": "browser", "max_pages": 1, "max_depth": 1}
        run, found = await crawl(shared_app, site, **options)
        counts = (await shared_app.store.crawls.get(run.id)).counts
        assert (run.state, counts.pending) == (RunState.COMPLETED, 200), run.stats
        cells = [f"cell {row}-{column}." for row in range(200) for column in range(6)]
        assert re.findall(r"cell \d+-\d\.", found["/"]["full_text"]) == cells
        # Bounded: what was not reached is said.
        run, _ = await crawl(shared_app, site, **options, max_scrolls=1)
        counts = (await shared_app.store.crawls.get(run.id)).counts
        assert (run.state, run.stats["left_out"]) == (RunState.PARTIAL, {"scroll_limit": 1})
        assert 20 < counts.pending < 200


# Ten elements show the rows at the position of the scroll bar. The list above them changes by itself.
_REWRITTEN = """<title>log</title><main><h1>Log</h1><ul>{clocks}</ul><div id=box style="height: 300px; overflow: auto">
<div style="height: {height}px"><div id=rows style="position: sticky; top: 0"></div></div></div></main><script>
const rows = [], box = document.getElementById("box");
for (let n = 0; n < 10; n++) rows.push(document.getElementById("rows").appendChild(document.createElement("div")));
for (const row of rows) row.style.height = "30px";
function draw() { rows.forEach((row, n) => row.textContent = `Row ${Math.floor(box.scrollTop / 30) + n}.`); }
box.addEventListener("scroll", draw);
draw();
let ticks = 0;
setInterval(() => { ticks += 1;
  document.querySelectorAll("li").forEach((each, n) => each.textContent = `Clock ${n} at ${ticks}`); }, 100);
</script>"""


async def test_a_list_that_writes_new_rows_into_the_same_elements_is_collected_whole(shared_app: App) -> None:
    raw = _REWRITTEN.replace("{clocks}", "<li>Clock</li>" * 6).replace("{height}", str(120 * 30))
    with serve_site({"/": Page(raw=raw)}) as site:
        run, found = await crawl(shared_app, site, strategy="browser", max_pages=1, max_depth=1)
    assert run.state is RunState.COMPLETED, run.stats
    text = found["/"]["full_text"]
    assert re.findall(r"Row (\d+)\.", text) == [str(number) for number in range(120)]
    assert len(re.findall("Clock", text)) == 6, "a text that changes by itself is no row"


async def test_a_script_file_gives_a_list_away_too_and_rendering_in_vain_ends(shared_app: App) -> None:
    pages = _feed(30, "")
    head, _, rest = str(pages["/"].raw).partition("<script>")
    pages["/feed.js"] = Page(
        raw=rest.removesuffix("</script>") + _ON_SCROLL, headers={"content-type": "application/javascript"}
    )
    pages["/"].raw = f"{head}<script src=/feed.js></script>"
    # Nothing comes of this one, however often it is rendered.
    idle = "<script>new IntersectionObserver(() => fetch('/nothing'))</script>"
    for number in range(30):
        pages[f"/item/{number}"].head = idle
    with serve_site(pages) as site:
        run, found = await crawl(shared_app, site, max_depth=1, concurrency=1)
        assert (run.state, len(found)) == (RunState.COMPLETED, 31), run.stats
        # Read once over HTTP, and the first three by browser as well.
        assert sum(site.hits[f"/item/{number}"] for number in range(30)) == 33


async def test_the_summary_names_what_needs_scripts(corral: Corral) -> None:
    with serve_site({"/": Page(["/app/1"]), **_app({"1": []})}) as site:
        done = await asyncio.to_thread(corral, "crawl", f"{site.url}/", "--strategy", "http")
        assert done.code == 3, done.err
        assert "application_shell" in done.out
        assert "1 page" in done.err
        assert "--strategy auto" in done.err
        assert f"{site.url}/app/1" in done.err
