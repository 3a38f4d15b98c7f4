import asyncio
import gzip
import time
from typing import Any

import pytest

from corral.demo import running_site
from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.domain.net.proxy import parse_proxy
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Failed, Fetched, Outcome
from corral.domain.runs.payload.stored import Payload
from corral.domain.sites.session import parse_session
from corral.fetch.egress import dns
from corral.fetch.egress.client import Egress
from corral.fetch.http import HttpExecutor
from corral.fetch.limits import FetchLimits
from corral.fetch.proxy.route import Proxies
from corral.fetch.robots import Robots
from tests.fetch.hostile import ROUTES, Hostile, Request, redirect_to
from tests.fetch.upstream import upstream_proxy
from tests.slack import SLACK


async def execute(egress: Egress, url: str, *names: str, timeout_s: float = 5, **more: Any) -> Outcome:
    fields = [{"name": name, "css": None, "attr": None, "all": False} for name in names]
    payload = {"url": url, "fields": fields, "respect_robots": False, "trusted_hosts": [], **more}
    executor = HttpExecutor(egress, Robots(egress, "corral-test"))
    return await executor.execute(Task("run", 1, "page", "http", 1, Payload(payload), timeout_s))


def serve(monkeypatch: pytest.MonkeyPatch, path: str, body: bytes, *headers: str, status: str = "200 OK") -> None:
    async def route(request: Request) -> None:
        await request.answer(body, *headers, status=status)

    monkeypatch.setitem(ROUTES, path, route)


async def test_a_page_becomes_a_record_with_stats(egress: Egress, hostile: Hostile) -> None:
    outcome = await execute(egress, hostile.url("/to-page"), "title", "price", "warranty")
    assert isinstance(outcome, Fetched)
    assert outcome.records == ({"title": "A page", "price": "9.50", "warranty": None},)
    assert outcome.missing == ("warranty",)
    stats = outcome.stats
    assert stats["http_status"] == 200
    assert stats["content_type"] == "text/html"
    assert stats["content_length"] == stats["bytes"] == 99
    assert stats["title"] == "A page"
    assert stats["final_url"] == hostile.url("/page")
    assert stats["encoding"] == "utf-8"
    assert stats["cost"] == 2
    assert set(stats["timings"]) == {"dns_ms", "first_byte_ms", "total_ms", "parse_ms"}


async def test_no_fields_make_an_empty_record(egress: Egress, hostile: Hostile) -> None:
    outcome = await execute(egress, hostile.url("/"))
    assert isinstance(outcome, Fetched)
    assert outcome.records == ({},)
    assert outcome.missing == ()


@pytest.mark.parametrize(
    "status, code",
    [
        (401, "blocked"),
        (403, "blocked"),
        (429, "rate_limited"),
        (404, "bad_response"),
        (410, "bad_response"),
        (500, "bad_response"),
        (503, "bad_response"),
        (304, "bad_response"),
    ],
)
async def test_a_bad_status_is_a_failure(egress: Egress, hostile: Hostile, status: int, code: str) -> None:
    outcome = await execute(egress, hostile.url(f"/status/{status}"), "title")
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail, outcome.http_status) == (code, f"http_{status}", status)
    assert outcome.retry_after == "7"
    assert outcome.stats["http_status"] == status


async def test_the_guess_at_an_undeclared_encoding_is_on_record(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "<!doctype html><html><head><title>Каталог товаров</title></head><body><h1>Новые телефоны</h1></body></html>"
    serve(monkeypatch, "/guessed", page.encode("koi8-r"), "Content-Type: text/html")
    serve(monkeypatch, "/declared", page.encode("cp1251"), "Content-Type: text/html; charset=windows-1251")
    guessed = await execute(egress, hostile.url("/guessed"), "title")
    declared = await execute(egress, hostile.url("/declared"), "title")
    assert isinstance(guessed, Fetched)
    assert isinstance(declared, Fetched)
    assert guessed.records == ({"title": "Новые телефоны"},)
    assert guessed.stats["charset"]["source"] == "detected"
    assert 0.7 < guessed.stats["charset"]["confidence"] < 1
    assert declared.stats["charset"] == {"source": "header", "confidence": 1.0}


@pytest.mark.parametrize("through", ["", "proxy"])
async def test_the_time_limit_of_a_job_raises_that_of_the_first_byte(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, through: str
) -> None:
    async def slow(request: Request) -> None:
        await asyncio.sleep(1.5)
        await request.answer(b"<title>Late</title>", "Content-Type: text/html")

    monkeypatch.setitem(ROUTES, "/slow-start", slow)
    async with upstream_proxy() as upstream:
        allowed = tuple(AllowEntry.parse(f"127.0.0.1/32:{port}") for port in (hostile.port, upstream.port))
        egress = Egress(EgressPolicy(allowed), FetchLimits(first_byte_s=0.5, gap_s=0.5), "corral-test")
        fields = [{"name": "title"}]
        proxy = parse_proxy(f"http://127.0.0.1:{upstream.port}") if through else None
        proxies = Proxies(egress)
        executor = HttpExecutor(egress, Robots(egress, "corral-test"), proxies=proxies)
        outcomes = []
        for timeout_s in (None, 20):
            payload = {"url": hostile.url("/slow-start"), "fields": fields, "respect_robots": False}
            if timeout_s is not None:
                payload["timeout_s"] = timeout_s
            outcomes.append(
                await executor.execute(Task("run", 1, "page", "http", 1, Payload(payload), 20, proxy=proxy))
            )
        await proxies.close()
        await egress.close()
    capped, raised = outcomes
    assert isinstance(capped, Failed)
    assert (capped.code, capped.detail) == ("timeout", "first_byte")
    assert isinstance(raised, Fetched), raised
    assert raised.records == ({"title": "Late"},)


async def test_json_fills_fields_by_key(egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'{"name": "Lamp\\u0000\\ud800", "list_price": 1e999, "big": 99999999999999999999, "tags": ["a"]}'
    serve(monkeypatch, "/json", body, "Content-Type: application/json")
    outcome = await execute(egress, hostile.url("/json"), "name", "List Price", "big", "tags", "none")
    assert isinstance(outcome, Fetched)
    assert outcome.records == (
        {"name": "Lamp", "List Price": None, "big": "99999999999999999999", "tags": ["a"], "none": None},
    )
    assert outcome.missing == ("List Price", "none")
    assert outcome.stats["title"] is None


async def test_deep_json_is_no_bug_of_ours(egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, "/json", b"[" * 200_000, "Content-Type: application/json")
    outcome = await execute(egress, hostile.url("/json"), "name")
    assert isinstance(outcome, Fetched)
    assert outcome.missing == ("name",)


async def test_plain_text_is_its_own_text(egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, "/text", b" <b>hello</b> ", "Content-Type: text/plain")
    outcome = await execute(egress, hostile.url("/text"), "text", "title")
    assert isinstance(outcome, Fetched)
    assert outcome.records == ({"text": "<b>hello</b>", "title": None},)


async def test_an_image_has_no_fields_and_no_title(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/image", b"\x89PNG\r\n\x1a\n\0\0", "Content-Type: image/png")
    outcome = await execute(egress, hostile.url("/image"), "title")
    assert isinstance(outcome, Fetched)
    assert outcome.missing == ("title",)
    assert outcome.stats["title"] is None
    assert outcome.stats["is_binary"]


async def test_what_is_packed_and_does_not_say_so_is_no_page(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/packed", gzip.compress(b"<title>Packed</title>"), "Content-Type: text/html")
    outcome = await execute(egress, hostile.url("/packed"), "title")
    assert isinstance(outcome, Fetched)
    assert (outcome.missing, outcome.stats["is_binary"], outcome.stats["is_packed"]) == (("title",), True, True)


async def test_a_page_nested_too_deeply_is_not_parsed(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/deep", b"<div></x>" * 100_000, "Content-Type: text/html")
    started = time.monotonic()
    outcome = await execute(egress, hostile.url("/deep"), "title")
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("limit", "parse")
    assert time.monotonic() - started < 1 * SLACK


async def test_the_budget_covers_robots_and_page_together(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ROUTES, "/robots.txt", ROUTES["/silent"])
    started = time.monotonic()
    outcome = await execute(egress, hostile.url("/trickle"), respect_robots=True, timeout_s=1.5)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("timeout", "total")
    assert 1.4 <= time.monotonic() - started <= 2.5 * SLACK


async def test_robots_is_asked_only_where_it_is_respected(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/robots.txt", b"User-agent: *\nDisallow: /\n", "Content-Type: text/plain")
    outcome = await execute(egress, hostile.url("/"), "title")
    assert isinstance(outcome, Fetched)
    assert hostile.count_requests("/robots.txt") == 0
    refused = await execute(egress, hostile.url("/"), "title", respect_robots=True)
    assert isinstance(refused, Failed)
    assert (refused.code, refused.detail) == ("policy", "robots")
    assert hostile.count_requests("/") == 1


async def test_robots_is_asked_before_a_redirect_is_followed(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/robots.txt", b"User-agent: *\nDisallow: /hop/7\n", "Content-Type: text/plain")
    refused = await execute(egress, hostile.url("/hop/5"), "title", respect_robots=True)
    assert isinstance(refused, Failed)
    assert (refused.code, refused.detail) == ("policy", "robots")
    assert (hostile.count_requests("/hop/6"), hostile.count_requests("/hop/7")) == (1, 0)


async def test_a_forbidden_redirect_is_policy_not_blocked(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ROUTES, "/evil", redirect_to(b"http://[::ffff:7f00:1]:1/"))
    outcome = await execute(egress, hostile.url("/evil"), "title")
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("policy", "egress")


@pytest.mark.parametrize(
    "path, detail",
    [("/blocked", "http_403"), ("/account", "login_wall"), ("/missing", "http_404"), ("/broken", "http_500")],
)
async def test_an_answer_that_only_looks_like_content_is_seen_through(path: str, detail: str) -> None:
    egress = Egress(EgressPolicy((AllowEntry.parse("127.0.0.0/8:*"),)), FetchLimits(), "corral-test")
    async with running_site() as site:
        outcome = await execute(egress, site.url + path, "title")
    await egress.close()
    assert isinstance(outcome, Failed)
    assert outcome.detail == detail


# -- cookies of the run -----------------------------------------------------------------------------------


async def _wants_a_cookie(request: Request) -> None:
    """As many sites do: the first visit gets a cookie and is sent to where it came from."""
    if "cookie: " in request.head.lower() and "seen=1" in request.head:
        await request.answer(b"<title>Welcome back</title>", "Content-Type: text/html")
        return
    await request.answer(b"", "Location: /wants-a-cookie", "Set-Cookie: seen=1; Path=/", status="302 Found")


async def test_a_site_that_sets_a_cookie_and_sends_us_back_is_no_loop(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ROUTES, "/wants-a-cookie", _wants_a_cookie)
    outcome = await execute(egress, hostile.url("/wants-a-cookie"), "title")
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records == ({"title": "Welcome back"},)
    again = await execute(egress, hostile.url("/wants-a-cookie"), "title")
    assert isinstance(again, Fetched)
    assert again.stats["redirects"] == 1, "the next run comes as a stranger"


async def test_a_site_that_sets_a_new_cookie_each_time_is_left_after_ten_redirects(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless(request: Request) -> None:
        cookie = f"Set-Cookie: n={len(hostile.heads)}; Path=/"
        await request.answer(b"", "Location: /endless-cookies", cookie, status="302 Found")

    monkeypatch.setitem(ROUTES, "/endless-cookies", endless)
    outcome = await execute(egress, hostile.url("/endless-cookies"), "title")
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("limit", "redirects")
    assert hostile.connections == 11


async def test_a_cookie_of_one_site_is_not_shown_to_another(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(request: Request) -> None:
        where = f"Location: http://other.test:{hostile.port}/page"
        await request.answer(b"", where, "Set-Cookie: mine=1; Path=/", status="302 Found")

    monkeypatch.setattr(dns, "_addresses", lambda _: ("127.0.0.1",))
    monkeypatch.setitem(ROUTES, "/away", away)
    outcome = await execute(egress, hostile.url("/away"), "title")
    assert isinstance(outcome, Fetched)
    assert "cookie" not in hostile.heads[-1].lower()


async def test_what_a_site_renews_replaces_what_the_session_had(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def renew(request: Request) -> None:
        await request.answer(b"", "Location: /page", "Set-Cookie: sid=new; Path=/", status="302 Found")

    monkeypatch.setitem(ROUTES, "/renew", renew)
    state = parse_session(hostile.url("/"), [{"name": "sid", "value": "old"}, {"name": "lang", "value": "en"}])
    payload = {"url": hostile.url("/renew"), "fields": [{"name": "title"}], "respect_robots": False}
    executor = HttpExecutor(egress, Robots(egress, "corral-test"))
    await executor.execute(Task("run", 1, "page", "http", 1, Payload(payload), 5, state))
    assert "cookie: sid=old; lang=en" in hostile.heads[-2]
    assert "cookie: lang=en; sid=new" in hostile.heads[-1]
