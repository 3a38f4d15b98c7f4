"""XML, XPath and JSON paths through real readers: hostile ones cost their run or their field, and open nothing."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.job import Strategy
from corral.domain.runs.outcome import Failed, Fetched
from corral.domain.runs.retry import RetryPolicy, decide
from corral.domain.runs.run import RunAction
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.fetch.parsing.messages import ReaderLimits
from corral.fetch.parsing.pool import ParsePool
from tests.domain.runs.builders import A_RUN, NOW
from tests.extract.xml.xml_helpers import ATOM, RSS, SITEMAP
from tests.fetch.arena import EXECUTORS, Arena, arena_with
from tests.fetch.browsing import serve
from tests.fetch.hostile import hostile_server
from tests.fetch.parser_builders import URL, a_request, measure_lag, open_pool
from tests.slack import SLACK

pytestmark = pytest.mark.asyncio(loop_scope="module")
ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
BOMBS = {
    "billion laughs": f'<!DOCTYPE r [<!ENTITY e0 "ha">{ENTITIES}]><r>&e11;</r>',
    "quadratic": f'<!DOCTYPE r [<!ENTITY a "{"x" * 100_000}">]><r>{"&a;" * 100_000}</r>',
    "in an attribute": f'<!DOCTYPE r [<!ENTITY e0 "ha">{ENTITIES}]><r b="&e11;"/>',
    "a file": '<!DOCTYPE r [<!ENTITY x SYSTEM "file://FILE">]><r>&x;</r>',
    "an address": '<!DOCTYPE r [<!ENTITY x SYSTEM "http://127.0.0.1:PORT/x">]><r>&x;</r>',
    "a parameter": '<!DOCTYPE r [<!ENTITY % x SYSTEM "http://127.0.0.1:PORT/x"> %x;]><r/>',
    "default attributes": '<!DOCTYPE r [<!ATTLIST r b CDATA "x">]><r/>',
    "behind comments": "<?xml?><!-- <r> --><?a <r?>\n<!DOCTYPE r PUBLIC '[' '>' [<!ENTITY a 'b'>]><r>&a;</r>",
    "never closed": "<!DOCTYPE r [" + "<!ENTITY a 'b'>" * 10_000,
    "as a page": '<!DOCTYPE html [<!ENTITY a "b">]><html><title>&a;</title></html>',
}
# Named, and never opened: what they hold does not matter to what is asked.
NAMED = {
    "a file": '<!DOCTYPE r SYSTEM "FILE"><r><title>t</title>&x;</r>',
    "an address": '<!DOCTYPE r PUBLIC "-//x" "http://127.0.0.1:PORT/x.dtd"><r><title>t</title></r>',
    "a schema": '<r xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:schemaLocation="a FILE"><title>t</title></r>',
    "an inclusion": '<r xmlns:xi="http://www.w3.org/2001/XInclude"><title>t</title><xi:include href="FILE"/></r>',
    "a stylesheet": '<?xml-stylesheet type="text/xsl" href="http://127.0.0.1:PORT/x.xsl"?><r><title>t</title></r>',
}


def xml(body: bytes, *fields: FieldSpec, kind: str = "application/xml") -> ReadRequest:
    return replace(a_request(body, *fields), headers=(("content-type", kind),))


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """Whoever opens it waits for ever."""
    path = tmp_path / "trap"
    os.mkfifo(path)
    return path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with open_pool(ReaderLimits(cpu_s=0.6, selector_s=0.3)) as made:
        yield made


@pytest.mark.parametrize("name", BOMBS)
async def test_a_document_with_declarations_is_refused_and_nothing_is_opened(
    pool: ParsePool, name: str, trap: Path
) -> None:
    async with hostile_server() as den:
        body = BOMBS[name].replace("PORT", str(den.port)).replace("FILE", str(trap)).encode()
        started = time.monotonic()
        failed = await pool.read(xml(body, FieldSpec("title"), FieldSpec("x", xpath="//r")), 10)
        assert time.monotonic() - started < 3 * SLACK
        assert den.heads == []
    assert isinstance(failed, Failed)
    assert (failed.code, failed.detail) == ("bad_response", "xml_dtd")
    assert URL in failed.message


@pytest.mark.parametrize("name", NAMED)
async def test_what_a_document_names_is_not_opened_either(pool: ParsePool, name: str, trap: Path) -> None:
    async with hostile_server() as den:
        body = NAMED[name].replace("PORT", str(den.port)).replace("FILE", str(trap)).encode()
        read = await pool.read(xml(body, FieldSpec("title"), FieldSpec("x", xpath="//title")), 10)
        assert den.heads == []
    assert isinstance(read, ReadAnswer), read
    assert read.record == {"title": "t", "x": "t"}


TOO_MUCH = {
    "100k levels": lambda: b"<a>" * 100_000,
    "300 levels": lambda: b"<a>" * 300 + b"</a>" * 300,
    "11 MB of text": lambda: b"<a>" + b"x" * 11_000_000 + b"</a>",
    "5M elements": lambda: b"<r>" + b"<a/>" * 5_000_000 + b"</r>",
}


@pytest.mark.parametrize("name", TOO_MUCH)
async def test_a_document_that_is_too_much_costs_its_run(pool: ParsePool, name: str) -> None:
    async with measure_lag() as lag:
        failed = await pool.read(xml(TOO_MUCH[name](), FieldSpec("title")), 20)
        assert isinstance(await pool.read(xml(RSS), 20), ReadAnswer)
    assert isinstance(failed, Failed), failed
    assert (failed.code, failed.detail) == ("limit", "parse")
    assert lag.worst_s < 0.25 * SLACK


MANY = b"<r><title>t</title>" + b"<p>a</p>" * 30_000 + b"</r>"
SLOW = [
    FieldSpec("slow", xpath="//p[count(preceding::p[count(preceding::p) > 9]) > 5]"),
    FieldSpec("slow", xpath="count(//p[. = //p[. = //p]])"),
    FieldSpec("slow", css="p:nth-last-of-type(30000)"),
]


@pytest.mark.parametrize("spec", SLOW, ids=str)
async def test_a_selector_that_never_ends_costs_its_field(pool: ParsePool, spec: FieldSpec) -> None:
    fields = (FieldSpec("title"), spec, FieldSpec("p", xpath="//p"), FieldSpec("n", xpath="count(//p)"))
    read = await pool.read(xml(MANY, *fields), 20)
    assert isinstance(read, ReadAnswer), read
    assert read.record == {"title": "t", "slow": None, "p": "a", "n": 30_000}
    assert read.problems == {"slow": "limit:selector"}


async def test_a_path_that_multiplies_costs_its_field(pool: ParsePool) -> None:
    body = json.dumps([[[[[[1] * 9] * 9] * 9] * 9] * 9]).encode()
    fields = (FieldSpec("slow", jsonpath="$" + "..*" * 9, all=True), FieldSpec("n", jsonpath="$[0][0][0][0][0][0]"))
    read = await pool.read(xml(body, *fields, kind="application/json"), 20)
    assert isinstance(read, ReadAnswer), read
    assert (read.record, read.problems) == ({"slow": [], "n": 1}, {"slow": "limit:selector"})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena() -> AsyncIterator[Arena]:
    async with arena_with(reader_limits=ReaderLimits(selector_s=0.3)) as made:
        yield made


FEEDS: list[tuple[bytes, str, dict[str, Any], Any]] = [
    (RSS, "application/rss+xml", {"css": "item > link", "all": True}, ["/1", "/2"]),
    (ATOM, "application/atom+xml", {"xpath": "//entry/title", "all": True}, ["First", "Second"]),
    (SITEMAP, "text/xml", {"xpath": "//url/loc"}, "http://news.example/1"),
]


@pytest.mark.browser
@pytest.mark.parametrize("feed", FEEDS, ids=[each[1] for each in FEEDS])
async def test_feeds_and_sitemaps_over_http(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, feed: tuple[bytes, str, dict[str, Any], Any]
) -> None:
    body, kind, asked, found = feed
    serve(monkeypatch, "/feed", body.decode(), f"Content-Type: {kind}")
    outcome = await arena.run("http", arena.den.url("/feed"), {"name": "f", **asked})
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records == ({"f": found},)
    assert outcome.stats["content_type"] == kind


@pytest.mark.browser
async def test_a_document_with_declarations_fails_its_run_for_good(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/bomb", BOMBS["billion laughs"], "Content-Type: text/xml")
    outcome = await arena.run("http", arena.den.url("/bomb"), "title")
    assert isinstance(outcome, Failed), outcome
    assert (outcome.code, outcome.detail, outcome.stats["http_status"]) == ("bad_response", "xml_dtd", 200)
    run = A_RUN._replace(resolved_strategy=Strategy.HTTP, attempt=1, max_attempts=3)
    assert decide(run, outcome, RetryPolicy(), NOW).action is RunAction.FAIL
    serve(monkeypatch, "/gone", BOMBS["billion laughs"], "Content-Type: text/xml", status="503 Busy")
    outcome = await arena.run("http", arena.den.url("/gone"), "title")
    assert isinstance(outcome, Failed), outcome
    assert (outcome.code, outcome.detail, outcome.http_status) == ("bad_response", "http_503", 503)


FILLED = """<title>App</title><div id=root></div><script>setTimeout(() => {
document.getElementById("root").innerHTML = "<ul><li data-n=7>late</li></ul>" }, 700)</script>"""


@pytest.mark.browser
async def test_a_browser_waits_for_fields_by_xpath(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, "/app", FILLED)
    fields = ({"name": "li", "xpath": "//ul/li"}, {"name": "n", "xpath": "//li/@data-n"})
    outcome = await arena.run("browser", arena.den.url("/app"), *fields)
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records == ({"li": "late", "n": "7"},)


@pytest.mark.browser
@pytest.mark.parametrize("executor", [pytest.param("http", marks=pytest.mark.long), "browser"])
async def test_an_expression_that_never_ends_costs_its_field_in_a_browser_too(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, executor: str
) -> None:
    serve(monkeypatch, "/many", MANY.decode())
    fields = ("title", {"name": "slow", "xpath": SLOW[0].xpath}, {"name": "p", "xpath": "//p"})
    outcome = await arena.run(executor, arena.den.url("/many"), *fields, timeout_s=30 * SLACK)
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records == ({"title": "t", "slow": None, "p": "a"},)
    assert outcome.stats["problems"] == {"slow": "limit:selector"}


@pytest.mark.browser
@pytest.mark.parametrize("executor", EXECUTORS)
async def test_a_json_answer(arena: Arena, monkeypatch: pytest.MonkeyPatch, executor: str) -> None:
    serve(monkeypatch, "/api", '{"items": [{"price": 9.5}, {"price": 0}]}', "Content-Type: application/json")
    fields = (
        {"name": "all", "jsonpath": "$.items[*].price", "all": True},
        {"name": "last", "jsonpath": "$..[-1].price"},
    )
    outcome = await arena.run(executor, arena.den.url("/api"), *fields)
    assert isinstance(outcome, Fetched), outcome
    assert (outcome.records, outcome.missing) == (({"all": [9.5, 0], "last": 0},), ())
    assert outcome.stats["content_type"] == "application/json"


@pytest.mark.browser
@pytest.mark.parametrize("executor", EXECUTORS)
async def test_xml_and_plain_text_are_read_as_they_were_sent(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, executor: str
) -> None:
    feed = "<?xml version='1.0'?><rss><channel><title>Feed</title><item><Link>http://a.test/1</Link></item></channel></rss>"
    serve(monkeypatch, "/feed", feed, "Content-Type: application/xml")
    serve(monkeypatch, "/text", "price: 12 EUR <b>", "Content-Type: text/plain")
    serve(monkeypatch, "/bomb", BOMBS["billion laughs"], "Content-Type: text/xml")
    link = {"name": "link", "xpath": "//Link"}
    read = await arena.run(executor, arena.den.url("/feed"), "title", link)
    assert isinstance(read, Fetched), read
    assert read.records == ({"title": "Feed", "link": "http://a.test/1"},)
    text = await arena.run(executor, arena.den.url("/text"), {"name": "price", "regex": "price: ([0-9]+) EUR <b>$"})
    assert isinstance(text, Fetched), text
    assert text.records == ({"price": "12"},)
    bomb = await arena.run(executor, arena.den.url("/bomb"), "title")
    assert isinstance(bomb, Failed)
    assert (bomb.code, bomb.detail) == ("bad_response", "xml_dtd")


@pytest.mark.browser
async def test_a_page_that_is_sent_as_xml_is_read_after_its_scripts_have_run(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>before</title></head>'
        "<body><h1>before</h1><script>document.querySelector('h1').textContent = 'after'</script></body></html>"
    )
    serve(monkeypatch, "/page", page, "Content-Type: application/xml")
    outcome = await arena.run("browser", arena.den.url("/page"), {"name": "h1", "css": "h1"})
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records == ({"h1": "after"},)


@pytest.mark.browser
async def test_reading_goes_on_beside_hostile_documents(arena: Arena) -> None:
    bombs = [arena.pool.read(xml(BOMBS[name].encode()), 20) for name in ("billion laughs", "quadratic")]
    good = [arena.pool.read(xml(RSS, FieldSpec("title")), 20) for _ in range(10)]
    answers = await asyncio.gather(*bombs, *good)
    assert all(isinstance(answer, Failed) for answer in answers[:2])
    assert all(isinstance(answer, ReadAnswer) and answer.record["title"] == "All & news" for answer in answers[2:])
