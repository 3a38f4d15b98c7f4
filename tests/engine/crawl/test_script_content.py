"""Pages with text of their own whose scripts add more without a call, through the command line and a real browser."""

import json
from typing import Any

import pytest

from corral.domain.runs.run import RunState
from corral.fetch.browser import engine
from corral.fetch.browser.launch_args import BrowserLimits, find_chromium
from corral.wiring.app import App
from tests.chaos.level import by_level
from tests.cli.command import Corral
from tests.engine.crawl.crawling import records, start, wait_for_crawl
from tests.engine.crawl.site import Page, Site, serve_site, words_of
from tests.slack import SLACK

pytestmark = pytest.mark.skipif(not find_chromium(), reason="there is no browser here")

_SCRIPT = {"content-type": "text/javascript"}


def _rows(name: str) -> list[str]:
    return [f"Entry {number}: {words_of(f'{name} {number}', 6)}" for number in range(8)]


def _page(name: str, body: str) -> Page:
    return Page(raw=f"<title>{name}</title><nav><a href=/>home</a></nav><p>{words_of(name, 60)}</p>{body}")


def _markup(name: str) -> str:
    return "".join(f"<p>{row}</p>" for row in _rows(name))


def _data(name: str) -> str:
    return json.dumps(_rows(name))


_COMPONENT = """<entry-list></entry-list><script>customElements.define("entry-list", class extends HTMLElement {
connectedCallback() { this.attachShadow({mode: "open"}).innerHTML = %s.map(row => `<p>${row}</p>`).join("") } })
</script>"""

# By their names: bodies whose scripts add entries.
_SHAPES = {
    "inline": "<ul id=list></ul><script>for (const row of %s) {{ const item = document.createElement('li');"
    " item.textContent = row; document.getElementById('list').append(item) }}</script>",
    "window": "<script>window.__DATA__ = %s</script><script>const box = document.createElement('section');"
    "box.innerHTML = __DATA__.map(row => '<p>' + row + '</p>').join(''); document.body.appendChild(box)</script>",
    "component": _COMPONENT,
    "timer": "<table id=t></table><script>setTimeout(() => { for (const row of %s)"
    " t.insertRow().insertCell().textContent = row }, 300)</script>",
    "json": "<script type=application/json>%s</script><script>document.write(JSON.parse("
    "document.querySelector('[type=\"application/json\"]').textContent).map(row => `<p>${row}</p>`).join(''))</script>",
}


def _build_pages() -> dict[str, Page]:
    pages = {
        f"/{name}": _page(name, body.replace("{{", "{").replace("}}", "}") % _data(name))
        for name, body in _SHAPES.items()
    }
    clone = "document.querySelector('main').append(document.querySelector('template').content.cloneNode(true))"
    pages["/template"] = _page(
        "template", f"<main></main><template>{_markup('template')}</template><script>{clone}</script>"
    )
    move = "document.querySelector('main').innerHTML = document.querySelector('noscript').textContent"
    pages["/noscript"] = _page(
        "noscript", f"<main></main><noscript>{_markup('noscript')}</noscript><script>{move}</script>"
    )
    # One bundle for several pages of a template: it adds links to pages that nothing else leads to.
    add = "document.body.insertAdjacentHTML('beforeend', `<a href=\"/leaf${location.pathname}\">the leaf</a>`)"
    pages["/bundle.js"] = Page(raw=add, headers=_SCRIPT)
    for number in range(4):
        pages[f"/bundle/{number}"] = _page(f"bundle {number}", "<script src=/bundle.js></script>")
        pages[f"/leaf/bundle/{number}"] = Page()
    names = [path for path in pages if path.count("/") < 3 and not path.endswith(".js")]
    return {"/": Page(names), **pages}


def _crawl(corral: Corral, site: Site, *options: str, **settings: str) -> tuple[int, str, dict[str, dict[str, Any]]]:
    done = corral("crawl", f"{site.url}/", "--depth", "4", "-o", "out.jsonl", *options, **settings)
    lines = (corral.folder / "out.jsonl").read_text().splitlines()
    found = {record["url"].removeprefix(site.url): record for record in map(json.loads, lines)}
    return done.code, done.err, found


def _lacking(found: dict[str, dict[str, Any]]) -> set[str]:
    named = [*_SHAPES, "template", "noscript"]
    return {name for name in named if any(row not in found[f"/{name}"]["full_text"] for row in _rows(name))}


def test_what_scripts_build_is_in_the_records(corral: Corral) -> None:
    with serve_site(_build_pages()) as site:
        code, err, found = _crawl(corral, site)
        assert code == 0, err
        assert _lacking(found) == set()
        assert {f"/leaf/bundle/{number}" for number in range(4)} <= set(found)


def test_without_a_browser_they_are_named_and_the_crawl_is_partial(corral: Corral) -> None:
    with serve_site(_build_pages()) as site:
        code, err, found = _crawl(corral, site, APP_BROWSER_EXECUTABLE="/nothing/here")
        assert code == 3, err
        assert len(_lacking(found)) == 7
        assert "7 pages whose scripts add content and were not run" in err
        assert "corral doctor" in err
    feed = "<ul><li>one</ul><button>Load more</button><script>b.onclick = () => fetch('/more')</script>"
    with serve_site({"/": _page("feed", feed)}) as site:
        code, err, _ = _crawl(corral, site, APP_BROWSER_EXECUTABLE="/nothing/here")
        assert code == 3, err


async def test_a_named_browser_that_is_missing_is_noticed_before_a_driver_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "_start_driver", pytest.fail)
    with pytest.raises(engine.CannotStart, match="/nothing/here cannot be executed"):
        await engine.start_engine("http://127.0.0.1:9", BrowserLimits(executable="/nothing/here"))


def test_beyond_the_budget_of_browser_pages_they_are_named(corral: Corral) -> None:
    with serve_site(_build_pages()) as site:
        code, err, found = _crawl(corral, site, "--max-browser-pages", "2")
        assert code == 3, err
        assert len(_lacking(found)) >= 5
        assert "whose scripts add content and were not run" in err


_ORDINARY = {
    "visitors": "<script async src=https://www.googletagmanager.com/gtag/js?id=G-1></script>"
    "<script>window.dataLayer = []; function gtag() { dataLayer.push(arguments) } gtag('js', new Date())</script>",
    "menu": "<button id=b>Menu</button><script>document.getElementById('b')"
    ".addEventListener('click', () => document.querySelector('nav').classList.toggle('open'))</script>",
    "search": "<input id=q><div id=search-results></div><script src=/search.js></script>",
    "code": "<pre><code>def f(x):\n    return x\n</code></pre><script src=/highlight.js></script>",
    "year": "<footer>© <script>document.write(new Date().getFullYear())</script></footer>",
}
_SEARCH = """const pages = [{text: "How to install it on Linux"}, {text: "How to configure the server"}];
document.getElementById("q").addEventListener("input", event => {
  document.getElementById("search-results").innerHTML = pages.filter(each => each.text.includes(event.target.value))
    .map(each => `<p>${each.text}</p>`).join("") })"""
_HIGHLIGHT = r"""for (const code of document.querySelectorAll("pre code")) {
  code.innerHTML = code.textContent.replace(/\b(def|return)\b/g, "<span>$1</span>");
  code.parentNode.append(Object.assign(document.createElement("button"), {textContent: "Copy"})) }"""


@pytest.mark.asyncio(loop_scope="module")
async def test_ordinary_scripts_cost_few_pages_in_the_browser(shared_app: App) -> None:
    pages = {
        "/search.js": Page(raw=_SEARCH, headers=_SCRIPT),
        "/highlight.js": Page(raw=_HIGHLIGHT, headers=_SCRIPT),
    }
    for name, body in _ORDINARY.items():
        pages |= {f"/{name}/{number}": _page(f"{name} {number}", body) for number in range(by_level(8, 15))}
    # A template for every page, as the pages of a documentation have.
    words = words_of("topics", by_level(10, 20)).split()
    pages |= {f"/docs/{word}": _page(word, _ORDINARY["search"]) for word in words}
    pages["/"] = Page([path for path in pages if not path.endswith(".js")])
    with serve_site(pages) as site:
        run = await wait_for_crawl(shared_app, await start(shared_app, f"{site.url}/", max_depth=4), 60 * SLACK)
        found = await records(shared_app, run.id, site.url)
        assert (run.state, len(found)) == (RunState.COMPLETED, len(pages) - 2), run.stats
        again = {path: hits - 1 for path, hits in site.hits.items() if hits > 1 and not path.endswith(".js")}
        by_kind = {name: sum(path.startswith(f"/{name}/") for path in again) for name in _ORDINARY}
        assert (by_kind["visitors"], by_kind["menu"]) == (0, 0)
        assert all(by_kind[name] <= 3 for name in ("search", "code", "year")), by_kind
        assert sum(again.values()) <= 18, again


_LIST = "<h1>A list</h1><ul id=rows><li><a href=/item/0>item 0</a></li></ul><ol id=more></ol>%s"
_ADD = "for (let n = 1; n < 6; n++) more.innerHTML += `<li><a href='/item/${n}'>item ${n}</a></li>`"
_RECIPE = """fields:
  - {name: heading, css: h1}
  - {name: rows, css: li, all: true}
"""


def test_a_single_page_with_values_that_scripts_add_goes_to_the_browser(corral: Corral) -> None:
    inline = f"<script>const more = document.getElementById('more'); {_ADD}</script>"
    pages = {"/inline": _page("inline", _LIST % inline), "/static": _page("static", _LIST % "<script>1</script>")}
    pages["/file"] = _page("file", _LIST % "<script src=/list.js></script>")
    pages["/list.js"] = Page(raw=f"const more = document.querySelector('#more'); {_ADD}", headers=_SCRIPT)
    (corral.folder / "recipe.yaml").write_text(_RECIPE)
    with serve_site(pages) as site:
        for path, rows, strategy in (("/inline", 6, "browser"), ("/file", 6, "browser"), ("/static", 1, "http")):
            done = corral("scrape", f"{site.url}{path}", "--recipe", "recipe.yaml", "--json")
            assert (done.code, len(done.json["records"][0]["rows"])) == (0, rows), done.err
            assert done.json["run"]["resolved_strategy"] == strategy
        done = corral("scrape", f"{site.url}/inline", "--recipe", "recipe.yaml", APP_BROWSER_EXECUTABLE="/nothing")
        assert done.code == 3, done.err
        shown = corral("preview", f"{site.url}/inline", "--json")
        assert any("prefer_browser" in each for each in shown.json["warnings"])


@pytest.mark.asyncio(loop_scope="module")
async def test_a_list_page_whose_scripts_add_items_is_read_in_the_browser(shared_app: App) -> None:
    inline = f"<script>const more = document.getElementById('more'); {_ADD}</script>"
    pages = {"/": _page("list", _LIST % inline), **{f"/item/{number}": Page() for number in range(6)}}
    with serve_site(pages) as site:
        links = {"name": "item_links", "css": "li a", "attr": "href", "all": True}
        listing = {"item_links": links, "pagination": {"mode": "none"}}
        options: dict[str, Any] = {"listing": listing, "fields": [{"name": "title"}], "only_fields": True}
        run_id = await start(shared_app, f"{site.url}/", **options)
        run = await wait_for_crawl(shared_app, run_id, within_s=60 * SLACK)
        assert (run.state, len(await records(shared_app, run.id, site.url))) == (RunState.COMPLETED, 6), run.stats
