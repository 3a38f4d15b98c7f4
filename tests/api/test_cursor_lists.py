"""Lists whose further pages come from an API: it is called with the next cursor, or else the browser goes on."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from corral.fetch.browser.launch_args import find_chromium
from tests.stack import Stack

pytestmark = pytest.mark.skipif(not find_chromium(), reason="there is no browser here")

PAGES, EACH = 8, 3
_PAGE = """<!doctype html><title>List</title><h1>All there is</h1><ul id=list></ul>
<button id=more>Show more</button><script>
let state = null;
const ask = %(ask)s, next = %(next)s;
const load = () => fetch(...ask(state)).then(answer => answer.json()).then(told => {
  const rows = told.data ? told.data.rows : told.results;
  document.getElementById("list").insertAdjacentHTML("beforeend",
    rows.map(row => `<li><a class=item href="${row.path || "/item/" + row.id + "/view"}">${row.name}</a></li>`)
      .join(""));
  state = next(told, rows);
  if (!state) document.getElementById("more").remove();
});
document.getElementById("more").addEventListener("click", load); load();</script>"""


@dataclass
class Api:
    """What one site's API is like: its page, and its answer to the parameters or the body of a call."""

    kind: str
    needs_browser: bool = False  # it refuses a call without a header that only its page sends
    replayed: int = 0
    by_browser: int = 0
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def page(self) -> str:
        asks = {
            "cursor": 's => ["/api/list?size=3" + (s ? "&after=" + s : ""), {headers: {"x-page": "1"}}]',
            "number": 's => ["/api/list?page=" + (s || 1)]',
            "address": 's => [s || "/api/list?size=3"]',
            "body": """s => ["/api/list", {method: "POST", headers: {"content-type": "application/json"},
                body: JSON.stringify({query: {sort: "new"}, paging: {limit: 3, token: s}})}]""",
            "last": 's => ["/api/list?before=" + (s || "")]',
        }
        following = {
            "cursor": "told => told.meta.cursor",
            "number": "(told, rows) => rows.length ? (state || 1) + 1 : null",
            "address": "told => told.next",
            "body": "told => told.data.paging.next_token",
            "last": "(told, rows) => rows.length ? rows[rows.length - 1].id : null",
        }
        return _PAGE % {"ask": asks[self.kind], "next": following[self.kind]}

    def answer(self, query: dict[str, list[str]], body: Any) -> dict[str, Any]:
        given = {name: values[0] for name, values in query.items()}
        token = body["paging"]["token"] if body else given.get("after") or given.get("cursor")
        at = int(token.removeprefix("tok")) if token else 0
        at = int(given["page"]) - 1 if "page" in given else at
        at = (int(given["before"].removeprefix("k")) + 1) // EACH if given.get("before") else at
        last = at >= PAGES - 1
        numbers = range(at * EACH, min(PAGES, at + 1) * EACH)
        rows = [{"id": f"k{number}", "name": f"Thing {number}"} for number in numbers]
        if self.kind == "body":
            rows = [{**row, "path": f"/item/{row['id']}/view"} for row in rows]
            return {"data": {"rows": rows, "paging": {"next_token": None if last else f"tok{at + 1}"}}}
        following = None if last else f"/api/list?size=3&cursor=tok{at + 1}"
        return {"results": rows, "meta": {"cursor": None if last else f"tok{at + 1}"}, "next": following}


@contextmanager
def serve(api: Api) -> Iterator[Api]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/":
                return self.reply(200, "text/html", api.page)
            if parts.path.startswith("/item/"):
                return self.reply(200, "text/html", f"<title>{parts.path}</title>" + "<p>some words of it</p>" * 40)
            return self.reply_list(None) if parts.path == "/api/list" else self.reply(404, "text/html", "no")

        def do_POST(self) -> None:
            self.reply_list(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def reply_list(self, body: Any) -> None:
            is_page = self.headers.get("sec-fetch-mode") is not None
            with api.lock:
                api.by_browser += is_page
                api.replayed += not is_page
            if api.needs_browser and self.headers.get("x-page") is None:
                return self.reply(403, "application/json", "{}")
            query = parse_qs(urlsplit(self.path).query)
            return self.reply(200, "application/json", json.dumps(api.answer(query, body)))

        def reply(self, status: int, kind: str, text: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def collect(stack: Stack, api: Api, **config: Any) -> tuple[dict[str, Any], int]:
    links = {"item_links": "a.item", **config}
    body = {"target_url": f"{api.url}/", "crawl_mode": "list", "fields": ["title"], "list_config": links}
    answer = stack.client.post("/jobs", json=body)
    assert answer.status_code == 200, answer.text
    run = stack.wait_for_end(stack.start(answer.json())["id"], within_s=120)
    return run, len(stack.client.get(f"/jobs/runs/{run['id']}/records?limit=200").json())


@pytest.mark.parametrize("kind", ["cursor", "number", "address", "body", "last"])
def test_the_api_of_a_list_is_called_to_its_end_without_the_browser(stack: Stack, kind: str) -> None:
    with serve(Api(kind)) as api:
        run, items = collect(stack, api, pagination="cursor")
    assert (run["status"], items) == ("completed", PAGES * EACH), run["stats"]
    assert (api.by_browser, api.replayed >= PAGES - 4) == (4, True)  # the first page, two steps, and one to look ahead


def test_the_browser_goes_on_where_the_api_refuses_a_replay(stack: Stack) -> None:
    with serve(Api("cursor", needs_browser=True)) as api:
        run, items = collect(stack, api)  # auto
    assert (run["status"], items) == ("completed", PAGES * EACH), run["stats"]
    assert (api.replayed > 0, api.by_browser >= PAGES + 4) == (True, True)


def test_bounds_hold_for_the_api_too(stack: Stack) -> None:
    with serve(Api("cursor")) as api:
        run, items = collect(stack, api, pagination="cursor", max_pages=5)
        assert (run["status"], items, run["stats"]["left_out"]) == ("completed", 5 * EACH, {})
        run, items = collect(stack, api, pagination="cursor", max_items=17)
        assert (run["status"], items) == ("completed", 17)
