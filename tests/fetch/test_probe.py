import pytest

from corral.domain.fields.spec import FieldSpec
from corral.domain.runs.outcome import Failed
from corral.fetch.egress.client import Egress
from corral.fetch.probe import probe
from tests.fetch.hostile import ROUTES, Hostile, Request

SHELL = b"<html><head><title>App</title></head><body><div id=root></div><script src=/a.js></script></body></html>"


async def test_a_readable_page_is_no_shell(egress: Egress, hostile: Hostile) -> None:
    found = await probe(egress, hostile.url("/"), (FieldSpec("price"),))
    assert (found.status, found.is_shell, found.failure, found.resolved) == (200, False, None, True)


async def test_an_application_shell_is_seen(egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    async def route(request: Request) -> None:
        await request.answer(SHELL, "Content-Type: text/html")

    monkeypatch.setitem(ROUTES, "/app", route)
    assert (await probe(egress, hostile.url("/app"), (FieldSpec("price"),))).is_shell


@pytest.mark.parametrize(
    "body, kind, what",
    [(b"", "text/html", "nothing at all"), (b"{}", "application/json; charset=utf-8", "application/json")],
)
async def test_what_is_no_page_is_called_what_it_is(  # noqa: PLR0917
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, body: bytes, kind: str, what: str
) -> None:
    async def route(request: Request) -> None:
        await request.answer(body, f"Content-Type: {kind}")

    monkeypatch.setitem(ROUTES, "/thing", route)
    assert (await probe(egress, hostile.url("/thing"), (FieldSpec("price"),))).what == what


@pytest.mark.parametrize("status", [401, 403, 429, 404, 500])
async def test_a_bad_answer_is_still_an_answer(egress: Egress, hostile: Hostile, status: int) -> None:
    found = await probe(egress, hostile.url(f"/status/{status}"), ())
    assert (found.status, found.resolved, found.failure) == (status, True, None)


async def test_an_unknown_name_is_not_resolved(egress: Egress) -> None:
    found = await probe(egress, "http://no-such-host.invalid/", ())
    assert (found.status, found.resolved) == (None, False)
    assert found.failure is not None


async def test_silence_is_no_answer_within_the_budget(egress: Egress, hostile: Hostile) -> None:
    found = await probe(egress, hostile.url("/silent"), (), budget_s=0.3)
    assert (found.status, found.resolved) == (None, True)
    assert isinstance(found.failure, Failed)
    assert found.failure.code == "timeout"
