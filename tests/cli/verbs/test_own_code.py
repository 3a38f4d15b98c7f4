"""Own code on the command line: `--parse FILE`, `parse` of a recipe file, `corral record` and `corral test`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Corral
from tests.engine.crawl.site import Page, serve_site

pytestmark = pytest.mark.usefixtures("migrated")

WORDS = "<p>Words that a reader may like.</p>" * 20
ROWS = "<ul><li>Lamp <b>12.50</b></li><li>Chair <b>7</b></li></ul>"
PAGES = {
    "/": Page(raw=f"<title>Start</title><a href=/shop/1>1</a><a href=/blog/a>a</a><a href=/other>o</a>{WORDS}"),
    "/shop/1": Page(raw=f"<title>Shop</title>{ROWS}<a href=/shop/2>next</a><a href=/other>o</a>{WORDS}"),
    "/shop/2": Page(raw=f"<title>Shop 2</title><ul><li>Table <b>1,250</b></li></ul>{WORDS}"),
    "/blog/a": Page(raw=f"<title>Post</title><h1>Post</h1>{WORDS}"),
    "/other": Page(raw=f"<title>Other</title><a href=/blog/a>a</a>{WORDS}"),
    "/robots.txt": Page(status=404),
}
CODE = """def parse(page):
    for row in page.css("li"):
        yield {"price": row.first("b").text, "page": page.url.rpartition("/")[2]}
    yield page.follow(*(each for each in page.css("a") if each.text == "next"))
"""
ONE = "def parse(page):\n    return {'title': page.find('title'), 'rows': len(page.css('li'))}\n"
RAISES = "def parse(page):\n    rows = page.css('li')\n    return {'first': rows[100].text}\n"


def write(corral: Corral, name: str, text: str) -> str:
    (corral.folder / name).write_text(text)
    return name


def test_a_page_is_scraped_by_own_code(corral: Corral) -> None:
    write(corral, "one.py", ONE)
    with serve_site(PAGES) as site:
        done = corral("scrape", f"{site.url}/shop/1", "--parse", "one.py", "--json")
    assert done.code == 0, done.err
    assert done.json["records"] == [{"title": "Shop", "rows": 2}]


def test_an_error_of_own_code_names_the_line_and_shows_in_the_run(corral: Corral) -> None:
    write(corral, "bad.py", RAISES)
    with serve_site(PAGES) as site:
        done = corral("scrape", f"{site.url}/shop/1", "--parse", "bad.py", "--json")
    assert done.code == 1
    assert "bad.py, line 3, in parse: IndexError: list index out of range" in done.err
    run = done.json["run"]
    assert (run["failure_code"], run["failure_detail"], run["attempt"]) == ("extraction", "parser", 1)
    assert "bad.py, line 3" in corral.here("run", "show", run["id"]).out
    events = corral.here("events", run["id"], "--json").out
    assert "return {'first': rows[100].text}" in events
    assert "corral/extract" not in events


def test_code_that_cannot_work_is_refused_before_a_request(corral: Corral) -> None:
    for code, said in (
        ("def parse(page):\n    return {\n", "shop.py, line 2"),
        ("def parse_page(page):\n    pass\n", "shop.py has no function parse"),
        ("async def parse(page):\n    pass\n", "shop.py, line 1: parse is a coroutine"),
        ("def parse():\n    pass\n", "shop.py, line 1: parse takes one argument"),
        ("return 1\n", "shop.py, line 1: 'return' outside function"),
        ("# " + "x" * 70_000, "has more than 65536 bytes"),
    ):
        write(corral, "shop.py", code)
        done = corral.here("job", "add", "http://127.0.0.1:9/", "--parse", "shop.py")
        assert (done.code, said in done.err) == (2, True), (code[:40], done.err)
    assert corral.here("scrape", "http://127.0.0.1:9/", "--parse", "none.py").code == 2


def crawl(corral: Corral, *arguments: str) -> list[dict[str, Any]]:
    done = corral("crawl", *arguments, "-o", "-")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_a_crawl_runs_own_code_per_url_pattern_and_follows_its_links(corral: Corral) -> None:
    write(corral, "shop.py", CODE)
    recipe = "only_fields: true\npages:\n- match: /shop/*\n  parse: shop.py\n  fields: [{name: price, type: number}]\n"
    write(corral, "shop.yaml", recipe + "- match: /blog/*\n  fields: [title]\n")
    with serve_site(PAGES) as site:
        found = crawl(corral, f"{site.url}/", "--depth", "3", "--exclude", "/other", "--recipe", "shop.yaml")
    found = sorted(({**each, "url": each["url"].removeprefix(site.url)} for each in found), key=str)
    assert found == [
        {"url": "/blog/a", "title": "Post"},
        {"url": "/shop/1", "price": 12.5, "page": "1"},
        {"url": "/shop/1", "price": 7, "page": "1"},
        {"url": "/shop/2", "price": 1250, "page": "2"},
    ]


def test_the_links_that_own_code_returns_replace_those_of_the_page(corral: Corral) -> None:
    write(corral, "shop.py", CODE)
    with serve_site(PAGES) as site:
        found = crawl(corral, f"{site.url}/shop/1", "--depth", "3", "--parse", "shop.py")
    assert {each["url"].removeprefix(site.url) for each in found} == {"/shop/1", "/shop/2"}
    assert not site.hits["/other"]


def test_a_page_that_own_code_fails_on_makes_a_crawl_partial(corral: Corral) -> None:
    write(corral, "shop.py", "def parse(page):\n    return {'first': page.css('li')[0].text}\n")
    with serve_site(PAGES) as site:
        done = corral("crawl", f"{site.url}/shop/1", "--depth", "2", "--parse", "shop.py", "--json")
    assert done.code == 3, done.err
    reasons = {each["reason"]: each["count"] for each in done.json["reasons"] if each["state"] == "failed"}
    assert reasons == {"extraction:parser": 1}
    run = done.json["run"]["id"]
    [failed, *_] = corral.here("crawl", "pages", run, "--state", "failed", "--json").json
    assert "shop.py, line 2, in parse: IndexError" in json.dumps(failed)


def test_a_recorded_page_tests_the_file_itself(corral: Corral) -> None:
    write(corral, "one.py", ONE)
    with serve_site(PAGES) as site:
        assert corral("record", f"{site.url}/shop/1", "--parse", "one.py", "--name", "shop").code == 0
    folder = corral.folder / "recordings/shop"
    assert json.loads((folder / "expected.json").read_text())["records"] == [{"title": "Shop", "rows": 2}]
    assert (folder / "recipe.yaml").read_text() == "parse: ../../one.py\n"
    assert corral.here("test").code == 0
    write(corral, "one.py", ONE.replace("'li'", "'b'").replace("len(", "10 + len("))
    changed = corral.here("test")
    assert (changed.code, "records[0].rows" in changed.out) == (1, True), changed.out
    write(corral, "one.py", RAISES)
    broken = corral.here("test")
    assert (broken.code, "extraction:parser" in broken.out, "one.py, line 3" in broken.out) == (1, True, True), (
        broken.out
    )
    Path(corral.folder / "one.py").unlink()
    assert corral.here("test").code == 78


def test_a_job_of_a_whole_site_takes_the_patterns_of_a_recipe_file(corral: Corral) -> None:
    write(corral, "one.py", ONE)
    write(corral, "site.yaml", "pages:\n- match: /shop/*\n  parse: one.py\n- match: /blog/*\n  fields: [title]\n")
    added = ("job", "add", "http://127.0.0.1:9/", "--recipe", "site.yaml", "--no-check", "--json")
    job = corral.here(*added, "--whole-site", APP_EGRESS_ALLOW="127.0.0.0/8:*").json
    assert job["fields"] == []
    assert job["list_config"]["page_fields"] == [
        {"match": "/shop/*", "fields": [], "parse": {"file": "one.py", "code": ONE}},
        {"match": "/blog/*", "fields": ["title"]},
    ]
    assert corral.here(*added, APP_EGRESS_ALLOW="127.0.0.0/8:*").code == 2
    plain = ("job", "add", "http://127.0.0.1:9/", "--parse", "one.py", "--no-check")
    shown = corral.here("job", "show", corral.here(*plain, APP_EGRESS_ALLOW="127.0.0.0/8:*").out.strip()).out
    assert ("one.py" in shown, "def parse" in shown) == (True, False), shown
    keyed = ("job", "add", "http://127.0.0.1:9/", "--parse", "one.py", "--key", "title", "--no-check", "--json")
    assert corral.here(*keyed, APP_EGRESS_ALLOW="127.0.0.0/8:*").json["record_key"] == "title"
