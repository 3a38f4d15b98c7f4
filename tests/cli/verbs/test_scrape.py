import csv
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from tests.cli.command import Corral, all_gone
from tests.fetch.certificates import certificate
from tests.forked.process import start_process
from tests.slack import SLACK

Started = Callable[..., subprocess.Popen[str]]


def test_a_page_is_collected_and_its_progress_is_told_line_by_line(shared: Corral, site: str) -> None:
    done = shared("scrape", f"{site}/articles", "--fields", "title")

    assert done.code == 0
    assert done.out == "title  Articles\n"
    assert "→ Run started" in done.err
    assert "← Run completed" in done.err


@pytest.mark.long
def test_json_and_a_file_carry_the_same_records(shared: Corral, site: str) -> None:
    done = shared("scrape", f"{site}/articles", "--css", "heading=h1", "--json", "-o", "found.jsonl")

    assert done.code == 0
    assert done.json["run"]["status"] == "completed"
    assert done.json["records"] == [{"heading": done.json["records"][0]["heading"]}]
    lines = (shared.folder / "found.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == done.json["records"]


_SHELL = b"""<html><head><title>App</title></head><body><div id=root></div>
<script>document.getElementById("root").innerHTML = "<h1 class=price>12</h1>"</script></body></html>"""


@contextmanager
def _app_that_nobody_vouches_for(folder: Path) -> Iterator[str]:
    """A page that scripts fill, behind a certificate of its own making."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_page = self.path == "/"
            self.send_response(200 if is_page else 404)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(_SHELL if is_page else b"")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = certificate(None).context(folder, "own").wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.long
@pytest.mark.browser
def test_any_certificate_is_taken_where_so_wanted_by_the_first_look_too(shared: Corral, tmp_path: Path) -> None:
    with _app_that_nobody_vouches_for(tmp_path) as url:
        refused = shared("scrape", url, "--css", "price=.price", "--max-attempts", "1")
        assert (refused.code, "tls" in refused.err) == (1, True), refused.err
        taken = shared("scrape", url, "--css", "price=.price", "--no-verify-tls", "--json")
    assert taken.code == 0, taken.err
    assert taken.json["records"] == [{"price": "12"}]
    # Plain HTTP would have found nothing; that a script fills the page was seen behind the same certificate.
    assert (taken.json["run"]["resolved_strategy"], taken.json["run"]["attempt"]) == ("browser", 1)
    assert "not verified" in taken.err


@pytest.mark.long
def test_fields_by_xpath_and_by_json_path(shared: Corral, site: str) -> None:
    done = shared(
        "scrape", f"{site}/sitemap.xml", "--xpath", "first=//url[1]/loc", "--xpath", "n=count(//url)", "--json"
    )
    assert done.code == 0, done.err
    assert done.json["records"][0]["first"] == f"{site}/"
    assert done.json["records"][0]["n"] > 60
    done = shared("scrape", f"{site}/api/products", "--jsonpath", "id=$.items[0].id", "--json")
    assert (done.code, done.json["records"]) == (0, [{"id": 1}])


@pytest.mark.parametrize(
    "option, value, said",
    [
        ("--xpath", "a=//b[", "the XPath expression cannot be read at position 4"),
        ("--xpath", "//b", "--xpath '//b' is not NAME=EXPRESSION"),
        ("--jsonpath", "a=b", "the JSON path cannot be read at position 0"),
        ("--jsonpath", "$.a", "--jsonpath '$.a' is not NAME=PATH"),
    ],
)
def test_what_is_no_path_is_refused_before_anything_is_fetched(
    shared: Corral, site: str, option: str, value: str, said: str
) -> None:
    done = shared("scrape", f"{site}/articles", option, value)
    assert done.code == 2
    assert said in done.err


def test_a_missing_page_fails_with_code_reason_and_remedy_and_touches_no_file(shared: Corral, site: str) -> None:
    kept = shared.folder / "kept.json"
    kept.write_text("from before")

    done = shared("scrape", f"{site}/missing", "--fields", "title", "-o", "kept.json")

    assert done.code == 1
    assert "corral: failed: bad_response (http_404): the target answered 404\n  fix: " in done.err
    assert kept.read_text() == "from before"
    assert not list(shared.folder.glob("*.part"))


def test_a_page_without_some_fields_is_partial_and_its_file_is_written(shared: Corral, site: str) -> None:
    done = shared("scrape", f"{site}/articles", "--fields", "title,shoe_size", "--max-attempts", "1", "-o", "part.csv")

    assert done.code == 3
    assert "partial: extraction" in done.err
    assert "shoe_size" in done.err
    rows = csv.reader((shared.folder / "part.csv").read_text().splitlines())
    assert list(rows) == [["title", "shoe_size"], ["Articles", ""]]


def test_what_http_found_is_kept_where_the_browser_cannot_start(shared: Corral, site: str) -> None:
    """The missing field makes the run look into the page with a browser, which exits at once."""
    broken = shared.folder / "broken-chromium"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    settings = {"APP_BROWSER_EXECUTABLE": str(broken)}

    done = shared("scrape", f"{site}/articles", "--fields", "title,shoe_size", "--json", **settings)

    assert done.code == 3, done.err
    assert done.json["run"]["status"] == "partial"
    [record] = done.json["records"]
    assert record["title"].startswith("Articles")
    assert record["shoe_size"] is None
    assert "the browser did not start" in done.err
    assert "shoe_size" in done.err


@pytest.mark.long
def test_a_target_that_is_down_is_tried_as_often_as_asked(shared: Corral, site: str) -> None:
    done = shared("scrape", f"{site}/broken", "--fields", "title", "--max-attempts", "2")

    assert (done.code, done.out) == (1, "")
    assert "Retry scheduled" in done.err
    assert "bad_response" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["ftp://example.com", "--fields", "title"],
        ["http://127.0.0.1:1/", "--fields", ""],
        ["http://127.0.0.1:1/", "--fields", "a,a"],
        ["http://127.0.0.1:1/", "--css", "price=:::"],
        ["http://127.0.0.1:1/", "--fields", "a", "-o", "records.doc"],
        ["http://127.0.0.1:1/", "--fields", "a", "--max-attempts", "0"],
    ],
)
def test_bad_arguments_end_with_2_and_write_nothing(corral: Corral, arguments: list[str]) -> None:
    done = corral.here("scrape", *arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err
    assert not corral.data.exists()


def test_a_dry_run_validates_and_writes_nothing(corral: Corral) -> None:
    done = corral("scrape", "http://127.0.0.1:1/page", "--fields", "title", "--dry-run", "--json", "-o", "x.csv")

    assert done.code == 0
    assert done.json["job"]["target_url"] == "http://127.0.0.1:1/page"
    assert list(corral.folder.iterdir()) == []


def test_an_interrupted_scrape_cancels_its_run_and_leaves_no_process(corral: Corral, site: str) -> None:
    arguments = ["scrape", f"{site}/slow?seconds=30", "--fields", "title", "--strategy", "http"]
    variables = corral.environment({"APP_PROBE_TIMEOUT_SECONDS": "0.2"})
    process = start_process(arguments, env=variables, cwd=corral.folder)
    assert process.stdout is not None
    with process.stdout as output:
        while b"Run started" not in output.readline():
            assert process.poll() is None
        children = psutil.Process(process.pid).children(recursive=True)

        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.wait(15 * SLACK) == 130
        assert time.monotonic() - began < 5 * SLACK
        err = output.read().decode()

    assert "is cancelled\n  fix: start it again with `corral run retry " in err
    assert "Traceback" not in err
    assert children
    assert all_gone(children)
    assert [run["status"] for run in corral.here("run", "list", "--json").json] == ["cancelled"]


def test_only_the_typed_host_is_trusted() -> None:
    from corral.cli.job_draft import draft_job, parse_fields
    from corral.cli.options import FieldOptions
    from corral.settings import Settings

    fields = parse_fields(FieldOptions(fields="title"), "https://a.example/")
    settings = Settings(data_dir=Path("nowhere"))
    odd = draft_job(settings, "http://10.0.0.7:8080/a", fields, trusts_host=True)
    usual = draft_job(settings, "https://intranet/a", fields, trusts_host=True)

    assert odd.trusted_hosts == ("10.0.0.7:8080",)
    assert usual.trusted_hosts == ("intranet:80", "intranet:443")


@pytest.mark.parametrize(
    "verb", [("scrape", "--fields", "title"), ("scrape", "--fields=a", "--strategy=http"), ("crawl",)]
)
def test_a_mistyped_host_fails_at_once_and_starts_nothing(corral: Corral, verb: tuple[str, ...]) -> None:
    name, *options = verb
    began = time.monotonic()
    answer = corral(name, "http://no-such-host.invalid/page", *options, APP_RETRY_BASE_SECONDS="60")
    assert time.monotonic() - began < 30 * SLACK
    assert (answer.code, answer.out) == (1, "")
    assert "no-such-host.invalid could not be resolved" in answer.err
    assert "fix: check the spelling" in answer.err
    assert corral.here("run", "list", "--json").json == []
