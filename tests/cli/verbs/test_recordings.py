"""`corral record` and `corral test`."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.command import Corral
from tests.slack import SLACK

pytestmark = pytest.mark.usefixtures("migrated")

_PAGE = """<!doctype html><html lang=en><head><title>Blue chair</title></head><body><main><h1>Blue chair</h1>
<p class=price>$ 1,250.50</p><p class=when>3 days ago</p><script src=/more.js></script></main></body></html>"""


# A script fetches the stock and writes it into the page.
_FILLED = """<!doctype html><html lang=en><head><title>Blue chair</title></head><body><main><h1>Blue chair</h1>
<p class=place></p><script>fetch("/stock").then(answer => answer.text()).then(text => {
const found = document.createElement("b"); found.className = "stock"; found.textContent = text + " in stock";
document.querySelector(".place").append(found); });</script></main></body></html>"""
_BODIES = {"/filled": _FILLED, "/stock": "7"}


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
            self.wfile.write(_BODIES.get(self.path, _PAGE).encode())

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


def test_a_page_that_a_script_fills_is_recorded_as_rendered(corral: Corral, shop: Shop) -> None:
    wanted = ("--css", "stock=.stock", "--css", "heading=h1")
    done = corral("record", f"{shop.url}/filled", *wanted, "--strategy", "browser", "--name", "rendered")
    plain = corral("record", f"{shop.url}/filled", *wanted, "--strategy", "http", "--name", "plain")

    assert (done.code, plain.code) == (0, 0), done.err + plain.err
    rendered, fetched = (corral.folder / "recordings" / name for name in ("rendered", "plain"))
    assert json.loads((rendered / "page.json").read_text())["strategy"] == "browser"
    expected = json.loads((rendered / "expected.json").read_text())
    assert (expected["record"]["stock"], expected["missing"]) == ("7 in stock", []), "only the script says so"
    assert json.loads((fetched / "expected.json").read_text())["record"]["stock"] is None
    shop.requests.clear()
    assert corral.here("test").code == 0
    assert shop.requests == []


def test_recordings_are_tested_where_there_is_no_network(corral: Corral, shop: Shop) -> None:
    _record(corral, shop)
    apart = ["unshare", "--user", "--map-root-user", "--net", "--"]
    if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine allows no network namespaces")
    port = shop.url.rpartition(":")[2]
    look = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
    reached = subprocess.run([*apart, sys.executable, "-c", look], capture_output=True, check=False)
    assert reached.returncode != 0, "the shop must be out of reach"

    done = subprocess.run(
        [*apart, sys.executable, "-m", "corral", "test"],
        cwd=corral.folder,
        env=corral.environment({}),
        capture_output=True,
        text=True,
        timeout=60 * SLACK,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "passed      recordings/chair\n1 passed\n"), done.stderr
