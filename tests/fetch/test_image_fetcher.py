"""Images of a dataset: what robots.txt has to do with them."""

import pytest

from corral.domain.ports.datasets import FetchRules
from corral.domain.runs.outcome import Deferred, Failed, WaitReason
from corral.fetch import robots as robots_module
from corral.fetch.egress.client import Egress
from corral.fetch.images import EgressImageFetcher
from corral.fetch.parsing.pool import InProcessReader
from corral.fetch.robots import Robots
from tests.fetch.hostile import ROUTES, Hostile, Request

RULES = b"User-agent: *\nDisallow: /private\n"


def serve_robots(monkeypatch: pytest.MonkeyPatch, silences: int, status: str = "") -> None:
    """Reset the connection, or answer the status, that many times; then give the rules."""
    asked = 0

    async def route(request: Request) -> None:
        nonlocal asked
        asked += 1
        if asked > silences:
            await request.answer(RULES)
        elif status:
            await request.answer(b"", status=status)
        else:
            request.reset()

    monkeypatch.setitem(ROUTES, "/robots.txt", route)
    monkeypatch.setattr(robots_module, "_RETRY_SILENT_S", 0.0)
    monkeypatch.setattr(robots_module, "_RETRY_UNREACHABLE_S", 0.0)


def make_fetcher(egress: Egress) -> EgressImageFetcher:
    return EgressImageFetcher(egress, Robots(egress, "corral-test"), InProcessReader())


@pytest.mark.parametrize("silences, status", [(3, ""), (1, "503 Busy")])
async def test_an_image_waits_for_a_robots_txt_that_is_not_there_yet(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, silences: int, status: str
) -> None:
    serve_robots(monkeypatch, silences, status)
    fetcher = make_fetcher(egress)
    for _ in range(silences):
        waiting = await fetcher.fetch_image(hostile.url("/"), FetchRules())
        assert isinstance(waiting, Deferred)
        assert waiting.reason is WaitReason.ROBOTS
        assert "robots.txt" in waiting.message
    assert hostile.count_requests("/") == 0
    assert isinstance(await fetcher.fetch_image(hostile.url("/"), FetchRules()), bytes)
    refused = await fetcher.fetch_image(hostile.url("/private"), FetchRules())
    assert isinstance(refused, Failed)
    assert refused.detail == "robots"


@pytest.mark.parametrize("tries, status", [(4, ""), (2, "500 No")])
async def test_an_image_of_a_site_whose_robots_txt_never_answers_is_refused(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, tries: int, status: str
) -> None:
    serve_robots(monkeypatch, 100, status)
    fetcher = make_fetcher(egress)
    answers = [await fetcher.fetch_image(hostile.url("/"), FetchRules()) for _ in range(tries)]
    assert [type(answer) for answer in answers] == [Deferred] * (tries - 1) + [Failed]
    last = answers[-1]
    assert isinstance(last, Failed)
    assert (last.code, last.detail) == ("policy", "robots_unreachable")
    assert hostile.count_requests("/") == 0


async def test_a_silence_is_remembered_until_the_next_try_and_tells_how_long(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_robots(monkeypatch, 1)
    monkeypatch.setattr(robots_module, "_RETRY_SILENT_S", 60.0)
    fetcher = make_fetcher(egress)
    for _ in range(6):
        waiting = await fetcher.fetch_image(hostile.url("/"), FetchRules())
        assert isinstance(waiting, Deferred)
        assert 50 < waiting.seconds <= 60
    assert hostile.count_requests("/robots.txt") == 1
