"""Every spelling of a forbidden address, against every fetch path that takes a URL. No canary may hear anything."""

import asyncio
import base64
import socket
from typing import Any
from urllib.parse import quote

import pytest

from corral.domain.errors import BadInput
from corral.domain.net.address import AllowEntry, EgressPolicy, check_literal
from corral.domain.net.url import parse_target
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Failed, Fetched, Outcome
from corral.domain.runs.payload.stored import Payload
from corral.engine.usecases.jobs import refuse_unreachable
from corral.fetch.api_replay import ApiReplayExecutor
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchRequest
from corral.fetch.egress.dns import PinnedAddress
from corral.fetch.http import HttpExecutor
from corral.fetch.probe import probe
from corral.fetch.proxy.forward_proxy import ForwardProxy
from corral.fetch.robots import Robots
from tests.chaos.level import LEVEL
from tests.fetch.conftest import QUICK
from tests.fetch.egress.ssrf_helpers import canary, each, patient
from tests.fetch.hostile import Hostile
from tests.fetch.ssrf_corpus import NAMES, Answered, corpus, names, ordinary


def a_task(url: str, **more: Any) -> Task:
    return Task("r", 1, "page", "http", 1, Payload({"url": url, "fields": [{"name": "name"}], **more}), 20)


def share_of_corpus(port: int, number: int) -> tuple[str, ...]:
    """Every second address when there is little time; the paths with odd and with even numbers try them all."""
    return corpus(port)[number % 2 :: 2] if not LEVEL else corpus(port)


def is_refused(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and outcome.code == "policy"


def is_a_name(url: str) -> bool:
    return any(f"//{name}:" in url for name in NAMES)


def test_the_corpus_is_large() -> None:
    assert len(set(corpus(80))) >= 2000
    assert len(names()) >= 300
    assert len(set(ordinary())) >= 200


def test_a_job_with_such_a_target_is_refused_at_creation() -> None:
    problems = {url: refusal(url) for url in corpus(80)}
    assert [url for url, problem in problems.items() if problem is None] == []
    for problem in problems.values():
        assert problem is not None
        assert problem.code in ("bad_url", "policy")
        assert problem.field == "target_url"
        assert problem.hint


def refusal(url: str) -> BadInput | None:
    try:
        check_literal(parse_target(url), EgressPolicy())
    except BadInput as problem:
        return problem
    return None


async def test_no_path_connects_to_a_forbidden_address() -> None:
    """By a page, its robots.txt, the look before a job is made, a recorded call. The policy allows nothing."""
    egress = Egress(EgressPolicy(), QUICK, "t")
    executor = HttpExecutor(egress, Robots(egress, "t"))
    async with canary() as heard:

        async def check(url: str) -> None:
            answer = await egress.fetch(FetchRequest(url, 20))
            assert isinstance(answer, Failed), url
            assert answer.code == "policy", (url, answer)
            assert "127.0.0.1" not in answer.message or not is_a_name(url), "what a name resolves to is not told"
            assert is_refused(await executor.execute(a_task(url, respect_robots=True))), url
            looked = await probe(egress, url, ())
            with pytest.raises(BadInput):
                refuse_unreachable(looked)

        await each(corpus(heard.port), check)
    await egress.close()
    assert heard.connections == 0


async def test_no_recorded_call_reaches_a_forbidden_address(egress: Egress, hostile: Hostile) -> None:
    replay = ApiReplayExecutor(egress, Robots(egress, "t"))
    async with canary() as heard:

        async def check(url: str) -> None:
            calls = [{"method": "GET", "url": url.replace("{", "{{"), "headers": {}}]
            recipe = {"url_pattern": "/shop/*", "calls": calls, "fields": {"name": {"call": 0, "value": "{$.name}"}}}
            cell = {"id": url, "version": 1, **recipe}
            outcome = await replay.execute(a_task(hostile.url("/shop/1"), recipe=cell, respect_robots=False))
            assert isinstance(outcome, Failed), url
            assert outcome.code in ("policy", "extraction"), (url, outcome)

        await each(corpus(heard.port), check)
    assert heard.connections == 0


REDIRECTED = ["page", "robots", "probe", "replay"]


@pytest.mark.parametrize("path", REDIRECTED)
async def test_no_redirect_leads_to_a_forbidden_address(hostile: Hostile, path: str) -> None:
    """A redirect without a host stays where it is; every other one is refused."""
    egress = patient(hostile)
    robots = Robots(egress, "t")
    executor, replay = HttpExecutor(egress, robots), ApiReplayExecutor(egress, robots)
    async with canary() as heard:

        async def check(url: str) -> None:
            first = hostile.url(f"/redirect?{quote(url, safe='')}")
            if path == "page":
                outcome = await executor.execute(a_task(first, respect_robots=False))
                assert is_refused(outcome) or is_contained(outcome, hostile), (url, outcome)
            elif path == "robots":
                answer = await egress.fetch(FetchRequest(first, 20, max_redirects=5, truncate=True, max_bytes=1000))
                assert not isinstance(answer, Failed) or answer.code in ("policy", "bad_response"), (url, answer)
            elif path == "probe":
                looked = await probe(egress, first, (), budget_s=20)
                failure = looked.failure
                assert failure is None or isinstance(failure, Failed), (url, looked)
                assert failure is None or failure.code in ("policy", "bad_response"), (url, looked)
            else:
                calls = [{"method": "GET", "url": first.replace("{", "{{"), "headers": {}}]
                fields = {"name": {"call": 0, "value": "{$.name}"}}
                cell = {"id": url, "version": 1, "url_pattern": "/shop/*", "calls": calls, "fields": fields}
                outcome = await replay.execute(a_task(hostile.url("/shop/1"), recipe=cell, respect_robots=False))
                assert isinstance(outcome, Failed), url
                assert outcome.code in ("policy", "extraction", "bad_response"), (url, outcome)

        await each(share_of_corpus(heard.port, REDIRECTED.index(path)), check)
    await egress.close()
    assert hostile.connections > 1000
    assert heard.connections == 0


def is_contained(outcome: Outcome, hostile: Hostile) -> bool:
    if isinstance(outcome, Failed):
        return outcome.code in ("bad_response", "limit")
    assert isinstance(outcome, Fetched)
    return str(outcome.stats["final_url"]).startswith(hostile.url("/"))


async def test_no_name_that_leads_inside_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bad answer among good ones condemns the name; the message does not say which."""
    async with canary() as heard:
        answers(monkeypatch, names())
        egress = Egress(EgressPolicy(), QUICK, "t")
        executor = HttpExecutor(egress, Robots(egress, "t"))

        async def check(name: str) -> None:
            url = f"http://{name}:{heard.port}/"
            outcome = await executor.execute(a_task(url))
            assert isinstance(outcome, Failed)
            assert (outcome.code, outcome.detail) == ("policy", "egress"), (name, outcome)
            known = next(each.ips for each in names() if each.name == name)
            assert not any(ip in outcome.message for ip in known)
            assert (await probe(egress, url, ())).failure is not None

        await each(tuple(known.name for known in names()), check)
        await egress.close()
    assert heard.connections == 0


def answers(monkeypatch: pytest.MonkeyPatch, known: tuple[Answered, ...]) -> None:
    """The resolver as these names have it."""
    found = {each.name: each.ips for each in known}
    real = socket.getaddrinfo

    def answer(host: str, *more: Any, **named: Any) -> list[Any]:
        if host not in found:
            return list(real(host, *more, **named))
        return [(socket.AF_INET6 if ":" in ip else socket.AF_INET, 1, 6, "", (ip, 0)) for ip in found[host]]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


async def test_a_name_that_changes_its_answer_is_judged_by_the_one_that_is_dialled(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rebinding: good once, then inside, at every further question. Whatever is dialled was checked."""
    asked = 0

    def answer(*_: Any, **__: Any) -> list[Any]:
        nonlocal asked
        asked += 1
        return [(socket.AF_INET, 1, 6, "", ("127.0.0.1" if asked % 2 else "127.0.0.2", 0))]

    async with canary() as heard:
        monkeypatch.setattr(socket, "getaddrinfo", answer)
        egress = Egress(EgressPolicy((AllowEntry.parse(f"127.0.0.1/32:{heard.port}"),)), QUICK, "t")
        for number in range(200):
            await egress.fetch(FetchRequest(f"http://rebind-{number}.example:{heard.port}/", 20))
        await egress.close()
    assert asked == 200
    assert heard.connections == 100, "only those whose one answer was allowed"


@pytest.mark.parametrize("method", ["GET", "CONNECT"])
async def test_the_browser_s_proxy_dials_no_forbidden_address(method: str) -> None:
    """What a browser could ask for, however it spells it: written to the proxy as it is, with good credentials."""
    egress = Egress(EgressPolicy(), QUICK, "t")
    proxy = ForwardProxy(egress)
    await proxy.start()
    port = int(proxy.address.rpartition(":")[2])
    async with canary() as heard:

        async def check(url: str) -> None:
            granted = proxy.admit()
            secret = base64.b64encode(f"{granted.username}:{granted.password}".encode()).decode()
            where = url.partition("//")[2].rstrip("/") if method == "CONNECT" else url
            head = f"{method} {where} HTTP/1.1\r\nproxy-authorization: Basic {secret}\r\n\r\n"
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head.encode())
            said = await reader.read()
            writer.close()
            proxy.revoke(granted)
            # 502 for what is no name at all once it is on the wire.
            assert said[:12] in (b"HTTP/1.1 403", b"HTTP/1.1 400", b"HTTP/1.1 502"), (url, said)

        await each(share_of_corpus(heard.port, method == "GET"), check)
    await proxy.close()
    await egress.close()
    assert heard.connections == 0


async def test_ordinary_urls_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    public = (socket.AF_INET, 1, 6, "", ("93.184.216.34", 0))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [public])
    egress = Egress(EgressPolicy(), QUICK, "t")
    for url in ordinary():
        target = parse_target(url)
        check_literal(target, EgressPolicy())
        assert isinstance(await egress.resolve(target), PinnedAddress), url
    await egress.close()


async def test_the_canary_hears_what_is_allowed() -> None:
    """Otherwise all of the above would say nothing."""
    async with canary() as heard:
        egress = Egress(EgressPolicy((AllowEntry.parse(f"127.0.0.0/8:{heard.port}"),)), QUICK, "t")
        for host in ("127.0.0.1", "2130706433", "0x7f.1", "127.1.2.3", "①②⑦.⓪.⓪.①"):
            answer = await egress.fetch(FetchRequest(f"http://{host}:{heard.port}/", 20))
            assert not isinstance(answer, Failed), (host, answer)
        outcome = await HttpExecutor(egress, Robots(egress, "t")).execute(a_task(f"http://127.0.0.1:{heard.port}/"))
        assert isinstance(outcome, Fetched)
        await egress.close()
    assert heard.connections >= 5
