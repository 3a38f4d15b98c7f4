"""`corral record` and `corral test`."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.command import Corral

_PAGE = """<!doctype html><html lang=en><head><title>Blue chair</title></head><body><main><h1>Blue chair</h1>
<p class=price>$ 1,250.50</p><p class=when>3 days ago</p><script src=/more.js></script></main></body></html>"""


@dataclass
class Shop:
    url: str = ""
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = Shop()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shop.requests.append(self.path)
            self.send_response(404 if self.path in {"/gone", "/robots.txt"} else 200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("set-cookie", "session=s3cr3t-cookie; Path=/")
            self.send_header("x-api-key", "s3cr3t-key")
            self.end_headers()
            self.wfile.write(_PAGE.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    shop.url = f"http://127.0.0.1:{server.server_port}"
    yield shop
    server.shutdown()
    thread.join()
    server.server_close()


_RECIPE = """fields:
  - title
  - {name: price, css: .price, type: money}
  - {name: when, css: .when, type: date}
  - {name: read_at, page: time}
  - {name: color, css: .color, optional: true}
"""


def _record(corral: Corral, shop: Shop) -> Path:
    (corral.folder / "shop.yaml").write_text(_RECIPE)
    done = corral("record", f"{shop.url}/chair", "--recipe", "shop.yaml", "--name", "chair")
    assert done.code == 0, done.err
    return corral.folder / "recordings/chair"


def test_a_recorded_page_is_tested_without_the_network(corral: Corral, shop: Shop) -> None:
    folder = _record(corral, shop)
    expected = json.loads((folder / "expected.json").read_text())
    assert expected["record"]["title"] == "Blue chair"
    assert expected["record"]["price"]["currency"] == "USD"
    assert (folder / "body.html").read_text() == _PAGE
    files = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"s3cr3t" not in files
    # Relative dates and the time of the page are those of the recording.
    meta = json.loads((folder / "page.json").read_text()) | {"recorded_at": "2020-02-10T12:00:00+00:00"}
    (folder / "page.json").write_text(json.dumps(meta))
    shop.requests.clear()

    assert corral.here("test", "--update").code == 0
    updated = json.loads((folder / "expected.json").read_text())["record"]
    done = corral.here("test")

    assert updated["when"] == "2020-02-07"
    assert updated["read_at"].startswith("2020-02-10T12:00:00")
    assert (done.code, done.out) == (0, "passed      recordings/chair\n1 passed\n")
    assert shop.requests == []


def test_a_difference_is_shown_by_field(corral: Corral, shop: Shop) -> None:
    folder = _record(corral, shop)
    body = folder / "body.html"
    body.write_text(body.read_text().replace("$ 1,250.50", "$ 99").replace("<h1>", "<h1 class=color>"))

    told = corral.here("test", "recordings")
    as_json = corral.here("test", "--json")

    assert told.code == as_json.code == 1
    assert "failed      recordings/chair\n" in told.out
    assert '  record.color\n    expected  null\n    actual    "Blue chair"\n' in told.out
    assert as_json.json["counts"] == {"passed": 0, "failed": 1, "updated": 0, "unreadable": 0}
    paths = {each["path"] for each in as_json.json["recordings"][0]["differences"]}
    assert {"record.price.amount", "record.color"} <= paths
    assert corral.here("test", "--update").out.startswith("updated")
    assert corral.here("test").code == 0


def test_a_page_that_fails_is_a_test_too(corral: Corral, shop: Shop) -> None:
    done = corral("record", f"{shop.url}/gone", "--fields", "title", "--name", "gone")

    assert done.code == 0, done.err
    assert "fails with bad_response:http_404" in done.out
    assert corral.here("test").code == 0


def test_what_cannot_be_recorded_or_read_has_an_exit_code(corral: Corral, shop: Shop) -> None:
    folder = _record(corral, shop)

    assert corral("record", f"{shop.url}/chair", "--fields", "title", "--name", "chair").code == 2
    assert corral("record", f"{shop.url}/chair", "--fields", "title", "--name", "../chair").code == 2
    assert corral("record", "http://127.0.0.1:9/", "--fields", "title", "--name", "x").code == 1
    assert corral.here("test", "nowhere").code == 2
    (folder / "expected.json").unlink()
    done = corral.here("test")
    assert done.code == 78
    assert "expected.json cannot be read" in done.out


def test_a_page_that_a_script_fills_is_recorded_as_rendered(corral: Corral, site: str) -> None:
    done = corral("record", f"{site}/articles", "--css", "heading=h1", "--strategy", "browser", "--name", "rendered")

    assert done.code == 0, done.err
    assert json.loads((corral.folder / "recordings/rendered/page.json").read_text())["strategy"] == "browser"
    assert corral.here("test").code == 0
