"""Looks at pages before there is a job for them: through the HTTP edge, at the demo site and at a nasty one."""

import contextlib
import http.server
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from corral.domain.jobs.survey import MAX_SNIPPET_CHARS
from tests.stack import Stack, corral_up


@pytest.fixture(scope="module")
def stack(site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One installation: nothing of a look is stored, so one database is as good as the other."""
    with corral_up(tmp_path_factory.mktemp("previews"), site) as running:
        yield running


def post(stack: Stack, path: str, **body: Any) -> dict[str, Any]:
    answer = stack.client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def post_refused(stack: Stack, path: str, **body: Any) -> dict[str, Any]:
    answer = stack.client.post(path, json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"] == answer.json()["error"]["message"]
    return dict(answer.json()["error"])


def read_stored(stack: Stack) -> tuple[list[Any], list[Any]]:
    return stack.client.get("/jobs").json(), stack.client.get("/jobs/runs").json()


@contextlib.contextmanager
def nasty_site() -> Iterator[str]:
    pages = {
        "/large": b"<title>large</title>" + b"<p>x</p>" * 2_000_000,
        "/slow-pattern": b"<title>slow</title><p>" + b"a" * 60 + b"!</p>",
        "/script": b"<title>t</title><script>alert(1)</script><p class=price>$ 5</p>" + b"<!--pad-->" * 5_000,
    }

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/inside":
                self.send_response(302)
                self.send_header("Location", "http://169.254.169.254/latest/meta-data/")
                self.end_headers()
                return
            body = pages.get(self.path, b"\x89PNG\r\n\x1a\n\x00" if self.path == "/image" else b"")
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "image/png" if self.path == "/image" else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):  # the other side has had enough
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def nasty() -> Iterator[str]:
    with nasty_site() as url:
        yield url


# -- preview -------------------------------------------------------------------------------------------


def test_a_page_is_shown_with_what_it_offers_and_nothing_is_stored(stack: Stack) -> None:
    before = read_stored(stack)
    found = post(stack, "/jobs/preview", url=f"{stack.site}/articles")
    assert (found["url"], found["fetched_via"], found["warnings"]) == (f"{stack.site}/articles", "http", [])
    assert found["html_snippet"] == httpx.get(f"{stack.site}/articles").text[:MAX_SNIPPET_CHARS]
    by_label = {each["label"]: each for each in reversed(found["suggestions"])}
    assert by_label["heading"]["sample"] == "Articles"
    assert by_label["items"]["css"] == "li.article"
    assert by_label["next page"]["sample"] == f"{stack.site}/articles?page=2"
    assert read_stored(stack) == before


def test_every_suggestion_works_as_a_selector_and_as_a_field(stack: Stack) -> None:
    url = post(stack, "/jobs/preview", url=f"{stack.site}/articles")
    article = next(each["sample"] for each in url["suggestions"] if each["label"] == "item links")
    found = post(stack, "/jobs/preview", url=article)["suggestions"]
    assert {"title", "heading", "date", "author", "description"} <= {each["label"] for each in found}
    keys = ("css", "attr", "all", "regex")
    fields = [{"name": f"f{n}", **{key: each[key] for key in keys}} for n, each in enumerate(found)]
    run = stack.wait_for_end(stack.start(stack.job(article.removeprefix(stack.site), fields=fields))["id"])
    assert run["status"] == "completed"
    [record] = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
    for number, each in enumerate(found):
        value = record["data"][f"f{number}"]
        assert (value[0] if each["all"] else value).startswith(each["sample"])


def test_a_redirect_is_followed_and_said(stack: Stack) -> None:
    assert post(stack, "/jobs/preview", url=f"{stack.site}/redirect?n=2")["url"] == f"{stack.site}/articles"


def test_a_page_that_scripts_fill_is_said_to_need_a_browser(stack: Stack) -> None:
    [warning] = post(stack, "/jobs/preview", url=f"{stack.site}/shop")["warnings"]
    assert "prefer_browser" in warning


@pytest.mark.browser
def test_a_browser_shows_what_scripts_have_drawn(stack: Stack) -> None:
    found = post(stack, "/jobs/preview", url=f"{stack.site}/shop", prefer_browser=True)
    assert (found["fetched_via"], found["warnings"]) == ("browser", [])
    by_label = {each["label"]: each for each in reversed(found["suggestions"])}
    assert by_label["items"]["css"] == "article.card"
    assert by_label["price"]["sample"].endswith("EUR")
    assert "card product" in found["html_snippet"]


def test_the_snippet_is_bounded_and_foreign_html_stays_as_it_came(stack: Stack, nasty: str) -> None:
    answer = stack.client.post("/jobs/preview", json={"url": f"{nasty}/script"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    snippet = answer.json()["html_snippet"]
    assert len(snippet) == MAX_SNIPPET_CHARS
    assert "<script>alert(1)</script>" in snippet


@pytest.mark.parametrize(
    "path, code",
    [("/blocked", "blocked"), ("/missing", "bad_response"), ("/broken", "bad_response"), ("/reset", "network")],
)
def test_a_target_that_cannot_be_fetched_is_told_in_the_words_of_a_run(stack: Stack, path: str, code: str) -> None:
    error = post_refused(stack, "/jobs/preview", url=stack.site + path)
    assert (error["code"], error["field"]) == (code, "url")


@pytest.mark.parametrize(
    "url, code",
    [
        ("http://10.0.0.1/", "policy"),
        ("http://169.254.169.254/latest", "policy"),
        ("http://[::1]:9/", "policy"),
        ("http://nowhere.invalid/", "unresolvable"),
        ("file:///etc/passwd", "bad_url"),
        ("https://user:pw@example.com/", "bad_url"),
        ("", "bad_url"),
    ],
)
@pytest.mark.parametrize(
    "path, more",
    [
        ("/jobs/preview", {}),
        ("/jobs/validate-selector", {"selector_spec": "h1"}),
        ("/jobs/list-wizard/validate", {"item_links": "a"}),
    ],
)
def test_forbidden_and_malformed_targets_are_refused(
    stack: Stack, path: str, more: dict[str, Any], url: str, code: str
) -> None:
    error = post_refused(stack, path, url=url, **more)
    assert (error["code"], error["field"]) == (code, "url")


@pytest.mark.parametrize("by_browser", [False, pytest.param(True, marks=pytest.mark.browser)])
def test_a_redirect_into_the_network_is_not_followed(stack: Stack, nasty: str, by_browser: bool) -> None:
    error = post_refused(stack, "/jobs/preview", url=f"{nasty}/inside", prefer_browser=by_browser)
    assert (error["code"], error["field"]) == ("policy", "url")
    assert "APP_EGRESS_ALLOW" in error["hint"]


def test_robots_txt_is_asked(stack: Stack) -> None:
    error = post_refused(stack, "/jobs/preview", url=f"{stack.site}/private/secret")
    assert error["code"] == "policy"
    assert "robots.txt" in error["message"]


def test_a_page_that_is_too_large_is_refused(stack: Stack, nasty: str) -> None:
    assert post_refused(stack, "/jobs/preview", url=f"{nasty}/large")["code"] == "limit"


def test_what_is_no_page_is_refused(stack: Stack, nasty: str) -> None:
    error = post_refused(stack, "/jobs/preview", url=f"{nasty}/image")
    assert error["code"] == "bad_response"
    assert "image/png" in error["message"]


def test_a_few_are_looked_at_and_the_rest_is_told_to_come_back(stack: Stack) -> None:
    def look(number: int) -> httpx.Response:
        return httpx.post(
            f"{stack.url}/jobs/preview", json={"url": f"{stack.site}/slow?seconds=3&n={number}"}, timeout=60
        )

    with ThreadPoolExecutor(9) as pool:
        answers = list(pool.map(look, range(9)))
    by_status = sorted(answer.status_code for answer in answers)
    assert by_status == [200] * 6 + [429] * 3
    late = next(answer for answer in answers if answer.status_code == 429)
    assert late.headers["retry-after"] == "1"
    assert late.json()["error"]["code"] == "too_many_previews"


# -- selectors -----------------------------------------------------------------------------------------


def test_a_selector_is_tried_as_a_field_would_be(stack: Stack) -> None:
    url = f"{stack.site}/articles"
    plain = post(stack, "/jobs/validate-selector", url=url, selector_spec="li.article h2")
    nothing_else = {"xpath": None, "jsonpath": None, "attr": None, "all": False, "regex": None}
    assert plain["selector_spec"] == {"css": "li.article h2", **nothing_else}
    assert (plain["match_count_estimate"], plain["fetched_via"], plain["warnings"]) == (10, "http", [])
    assert isinstance(plain["value_preview"], str)
    links = {"css": "li.article a", "attr": "href", "all": True}
    every = post(stack, "/jobs/validate-selector", url=url, selector_spec=links)["value_preview"]
    assert len(every) == 10
    assert all(each.startswith(f"{stack.site}/articles/") for each in every)
    pattern = {"css": "title", "regex": r"page (\d+) of (?:\d+)"}
    found = post(stack, "/jobs/validate-selector", url=url, selector_spec=pattern)
    assert (found["value_preview"], found["match_count_estimate"]) == ("1", 1)
    named = post(stack, "/jobs/validate-selector", url=url, selector_spec={"name": "title"})
    assert named["value_preview"].startswith("Articles")


@pytest.mark.parametrize(
    "spec, count, told",
    [("li.nothing", 0, "nothing on the page"), ({"css": "li.article", "attr": "href"}, 10, "no attribute 'href'")],
)
def test_a_selector_that_finds_nothing_is_told_why(stack: Stack, spec: Any, count: int, told: str) -> None:
    found = post(stack, "/jobs/validate-selector", url=f"{stack.site}/articles", selector_spec=spec)
    assert (found["value_preview"], found["match_count_estimate"]) == (None, count)
    assert told in found["warnings"][0]


@pytest.mark.browser
def test_a_selector_is_waited_for_in_the_browser(stack: Stack) -> None:
    body = {"url": f"{stack.site}/shop/1", "selector_spec": ".price"}
    assert post(stack, "/jobs/validate-selector", **body)["match_count_estimate"] == 0
    found = post(stack, "/jobs/validate-selector", **body, prefer_browser=True)
    assert (found["fetched_via"], found["match_count_estimate"]) == ("browser", 1)
    assert found["value_preview"].endswith("EUR")


def test_a_pattern_that_never_ends_costs_a_reader_and_not_the_server(stack: Stack, nasty: str) -> None:
    spec = {"css": "p", "regex": "(a+)+$"}
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(post, stack, "/jobs/validate-selector", url=f"{nasty}/slow-pattern", selector_spec=spec)
        while not looking.done():
            assert httpx.get(f"{stack.url}/ready", timeout=5).status_code == 200
            time.sleep(0.1)
    assert looking.result()["value_preview"] is None
    assert "takes too long" in looking.result()["warnings"][0]


@pytest.mark.parametrize(
    "spec, field, code",
    [
        ("p[", "selector_spec", "bad_selector"),
        ({"css": "a::attr(href)"}, "selector_spec", "bad_selector"),
        ({"regex": "("}, "selector_spec.regex", "bad_pattern"),
        ({}, "selector_spec", "bad_input"),
        ({"attr": "href"}, "selector_spec", "bad_input"),
        ({"css": "p", "xpath": "//p"}, "selector_spec", "bad_selector"),
        ({"xpath": "//p["}, "selector_spec", "bad_selector"),
        ({"jsonpath": "p"}, "selector_spec", "bad_selector"),
        ({"css": "p", "jq": "env"}, "selector_spec.jq", "bad_input"),
        (7, "selector_spec", "bad_input"),
    ],
)
def test_a_selector_that_cannot_be_read_is_refused(stack: Stack, spec: Any, field: str, code: str) -> None:
    error = post_refused(stack, "/jobs/validate-selector", url=f"{stack.site}/articles", selector_spec=spec)
    assert (error["code"], error["field"]) == (code, field)


# -- lists ---------------------------------------------------------------------------------------------


def test_a_list_is_followed_to_its_items_and_its_next_page(stack: Stack) -> None:
    body = {"url": f"{stack.site}/articles", "item_links": "li.article a", "pagination": "a[rel=next]"}
    found = post(stack, "/jobs/list-wizard/validate", **body)
    proposals = {"item_links_proposals", "pagination_proposals", "page_urls"}
    assert set(found) == {"item_count_estimate", "sample_item_urls", "next_page_url", "warnings", *proposals}
    assert (found["item_count_estimate"], len(found["sample_item_urls"]), found["warnings"]) == (10, 5, [])
    assert found["next_page_url"] == f"{stack.site}/articles?page=2"
    as_object = {"css": "li.article a", "attr": "href"}
    more = post(stack, "/jobs/list-wizard/validate", **{**body, "item_links": as_object, "max_samples": 7})
    assert len(more["sample_item_urls"]) == 7
    assert more["sample_item_urls"][:5] == found["sample_item_urls"]


@pytest.mark.parametrize(
    "path, more, told",
    [
        ("/articles", {"item_links": ".nothing"}, "matches nothing"),
        ("/articles", {"item_links": "li.article"}, "none has a URL"),
        ("/articles?page=6", {"item_links": "li.article a", "pagination": "a[rel=next]"}, "pagination matches no link"),
    ],
)
def test_a_list_that_would_not_work_is_warned_about(stack: Stack, path: str, more: dict[str, Any], told: str) -> None:
    found = post(stack, "/jobs/list-wizard/validate", url=stack.site + path, **more)
    assert any(told in warning for warning in found["warnings"])
    assert found["next_page_url"] is None


@pytest.mark.browser
def test_a_list_that_scripts_draw_is_seen_with_the_browser(stack: Stack) -> None:
    body = {"url": f"{stack.site}/shop", "item_links": "a.name", "pagination": "a.next"}
    assert any("prefer_browser" in each for each in post(stack, "/jobs/list-wizard/validate", **body)["warnings"])
    found = post(stack, "/jobs/list-wizard/validate", **body, prefer_browser=True)
    assert found["item_count_estimate"] > 1, found
    assert found["next_page_url"] == f"{stack.site}/shop?page=2"
    assert found["warnings"] == []


@pytest.mark.parametrize(
    "change, field",
    [
        ({"item_links": "a["}, "item_links"),
        ({"pagination": {"css": "a["}}, "pagination"),
        ({"max_samples": 0}, "max_samples"),
        ({"max_samples": 51}, "max_samples"),
        ({"max_samples": True}, "max_samples"),
        ({"max_samples": "5"}, "max_samples"),
        ({"item_links": {"css": "a", "attr": ""}}, "item_links.attr"),
        ({"item_links": {"css": "a", "every": True}}, "item_links.every"),
        ({"depth": 2}, "depth"),
        ({"prefer_browser": "yes"}, "prefer_browser"),
    ],
)
def test_a_list_request_is_read_strictly(stack: Stack, change: dict[str, Any], field: str) -> None:
    body = {"url": f"{stack.site}/articles", "item_links": "a", **change}
    assert post_refused(stack, "/jobs/list-wizard/validate", **body)["field"] == field


def test_unknown_parameters_of_the_address_are_refused(stack: Stack) -> None:
    assert post_refused(stack, "/jobs/preview?browser=1", url=stack.site)["field"] == "browser"
