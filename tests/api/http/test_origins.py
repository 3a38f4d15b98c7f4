"""A web page of another origin cannot write, whatever it sends; the dashboard and programs can."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

from corral.fetch.browser.launch_args import find_chromium
from tests.api.http.wire import ask, head, post
from tests.stack import Stack

FOREIGN = [
    ("Origin: http://evil.example",),
    ("Origin: null",),
    ("Origin: http://localhost:1",),
    ("Origin: file://",),
    ("Origin: http://localhost.evil.example",),
    ("Origin: http://localhost@evil.example",),
    ("Origin: http://[broken",),
    ("Origin:",),
    ("Sec-Fetch-Site: cross-site",),
    ("Sec-Fetch-Site: same-site",),
    ("Sec-Fetch-Site: Cross-Site", "Sec-Fetch-Mode: navigate"),
    ("Origin: http://evil.example", "Sec-Fetch-Site: same-origin"),
]


@pytest.mark.parametrize("headers", FOREIGN, ids=[" ".join(each) for each in FOREIGN])
def test_a_write_from_another_origin_is_refused_whatever_its_body(stack: Stack, headers: tuple[str, ...]) -> None:
    job = stack.job()
    path = f"/jobs/{job['id']}/runs"
    for request in (
        head("POST", path, "Content-Length: 0", *headers),
        post(path, b"{}", "application/json", *headers),
        post(path, b"a=1", "application/x-www-form-urlencoded", *headers),
        post(path, b"{}", "text/plain", *headers),
        head("DELETE", f"/jobs/{job['id']}", *headers),
    ):
        answer = ask(stack.url, request)
        assert (answer.status, answer.error["code"]) == (403, "foreign_origin")
    assert stack.client.get(path).json() == []


def test_our_own_pages_and_programs_may_write(stack: Stack) -> None:
    path = f"/jobs/{stack.job()['id']}/runs"
    port = stack.url.rpartition(":")[2]
    for headers in (
        (),
        ("Sec-Fetch-Site: none",),
        ("Sec-Fetch-Site: same-origin",),
        ("Origin: http://localhost", "Sec-Fetch-Site: same-origin"),
        ("Origin: HTTP://LOCALHOST:80",),
    ):
        assert ask(stack.url, head("POST", path, "Content-Length: 0", *headers)).status == 200, headers
    own = {"Origin": f"http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-origin"}
    assert stack.client.post(path, headers=own).status_code == 200
    assert ask(stack.url, head("GET", "/jobs", "Origin: http://evil.example")).status == 200


@contextmanager
def _page(html: str) -> Iterator[str]:
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"])
def test_a_form_of_another_site_starts_no_run(stack: Stack, kind: str) -> None:
    target = f"{stack.url}/jobs/{stack.job()['id']}/runs"
    form = f'<form method=post enctype="{kind}" action="{target}"><input name=a value=b></form>'
    script = f"<script>fetch('{target}', {{method: 'POST', mode: 'no-cors'}}).catch(() => 0)</script>"
    with _page(f"{form}{script}") as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(find_chromium()), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(url)
        with page.expect_navigation():
            page.evaluate("document.forms[0].submit()")
        assert "foreign_origin" in page.inner_text("body")
        browser.close()
    assert stack.client.get(target.removeprefix(stack.url)).json() == []
