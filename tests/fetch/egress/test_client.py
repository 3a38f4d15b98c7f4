import asyncio
import resource
import socket
import time

import pytest

from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.domain.runs.outcome import Failed
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext, FetchRequest
from corral.fetch.limits import MIB, FetchLimits
from corral.fetch.response import Response
from tests.fetch import hostile_codings
from tests.fetch.conftest import QUICK
from tests.fetch.hostile import PAGE, Hostile
from tests.slack import SLACK


async def fetch_ok(
    egress: Egress, url: str, trusted_hosts: frozenset[str] = frozenset(), **options: object
) -> Response:
    request = FetchRequest(url, timeout_s=5, **options)  # type: ignore[arg-type]
    answer = await egress.fetch(request, FetchContext(trusted_hosts))
    assert isinstance(answer, Response), answer
    return answer


async def fetch_failure(egress: Egress, url: str, timeout_s: float = 5) -> Failed:
    answer = await egress.fetch(FetchRequest(url, timeout_s))
    assert isinstance(answer, Failed), answer
    assert "127.0.0.1:" not in answer.message.replace(url, "") or "->" in answer.message
    return answer


def name_of(failure: Failed) -> str:
    return f"{failure.code}:{failure.detail}"


@pytest.mark.parametrize(
    "path",
    ["/", "/gzip", "/gzip-members", "/gzip-padded", "/deflate", "/deflate-raw", "/identity", *hostile_codings.GOOD],
)
async def test_a_page_arrives_whole_in_every_offered_encoding(egress: Egress, hostile: Hostile, path: str) -> None:
    answer = await fetch_ok(egress, hostile.url(path))
    assert (answer.status, answer.body) == (200, PAGE)
    assert answer.timings["total_ms"] >= answer.timings["first_byte_ms"] >= 0


@pytest.mark.parametrize(
    "path, expected",
    [
        ("/silent", "timeout:first_byte"),
        ("/trickled-headers", "timeout:first_byte"),
        ("/1xx", "timeout:first_byte"),
        ("/stops-midway", "timeout:read"),
        ("/reset", "network:reset"),
        ("/empty-answer", "network:reset"),
        ("/reset-midway", "network:reset"),
        ("/short", "network:incomplete"),
        ("/short-chunk", "network:incomplete"),
        ("/no-last-chunk", "network:incomplete"),
        ("/gzip-cut", "network:incomplete"),
        ("/endless", "limit:body_too_large"),
        ("/announces-10gb", "limit:body_too_large"),
        ("/gzip-bomb", "limit:body_too_large"),
        ("/gzip-double", "bad_response:encoding"),
        ("/gzip-stacked", "bad_response:encoding"),
        ("/gzip-corrupt", "bad_response:encoding"),
        ("/gzip-not", "bad_response:encoding"),
        ("/gzip-empty-members", "bad_response:encoding"),
        *((path, "bad_response:encoding") for path in hostile_codings.BAD),
        *((path, "network:incomplete") for path in hostile_codings.CUT),
        ("/two-lengths", "bad_response:protocol"),
        ("/negative-length", "bad_response:protocol"),
        ("/bad-chunk", "bad_response:protocol"),
        ("/not-http", "bad_response:protocol"),
        ("/10k-headers", "bad_response:headers"),
        ("/1mb-header", "bad_response:headers"),
        ("/100kb-header", "bad_response:headers"),
        ("/control-header", "bad_response:headers"),
        ("/loop", "limit:redirects"),
        ("/loop-a", "limit:redirects"),
        ("/hop/0", "limit:redirects"),
        ("/to-file", "policy:scheme"),
        ("/to-javascript", "policy:scheme"),
        ("/to-ftp", "policy:scheme"),
        ("/to-nowhere", "bad_response:location"),
        ("/to-invalid-utf8", "bad_response:location"),
        ("/to-1mb", "bad_response:headers"),
        ("/to-9000", "policy:url"),
        ("/to-userinfo", "policy:url"),
        ("/to-backslash", "policy:url"),
        ("/to-metadata", "policy:egress"),
        ("/to-mapped", "policy:egress"),
        ("/to-decimal", "policy:egress"),
        ("/to-other-port", "policy:egress"),
        ("/metadata-301", "policy:egress"),
        ("/metadata-303", "policy:egress"),
        ("/metadata-307", "policy:egress"),
        ("/metadata-308", "policy:egress"),
    ],
)
async def test_each_misbehaviour_has_its_name(egress: Egress, hostile: Hostile, path: str, expected: str) -> None:
    assert name_of(await fetch_failure(egress, hostile.url(path))) == expected


async def test_a_body_that_never_ends_stops_at_the_total_budget(egress: Egress, hostile: Hostile) -> None:
    started = time.monotonic()
    failure = await fetch_failure(egress, hostile.url("/trickle"), timeout_s=1)
    assert name_of(failure) == "timeout:total"
    assert 0.9 <= time.monotonic() - started <= 2 * SLACK
    await asyncio.sleep(0.3)
    assert hostile.open_now == 0, "the socket is closed with the budget"


async def test_a_gap_has_a_budget_of_its_own(hostile: Hostile) -> None:
    policy = EgressPolicy((AllowEntry.parse(f"127.0.0.1:{hostile.port}"),))
    egress = Egress(policy, FetchLimits(gap_s=0.3), "t")
    started = time.monotonic()
    assert name_of(await fetch_failure(egress, hostile.url("/stops-midway"))) == "timeout:read"
    assert time.monotonic() - started < 1 * SLACK
    await egress.close()


async def test_a_cancelled_fetch_closes_its_socket(egress: Egress, hostile: Hostile) -> None:
    task = asyncio.create_task(egress.fetch(FetchRequest(hostile.url("/trickle"), 30)))
    await asyncio.sleep(0.3)
    assert hostile.open_now == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.3)
    assert hostile.open_now == 0


@pytest.mark.parametrize("path", ["/gzip-bomb", "/bomb/gzip", "/bomb/deflate", "/bomb/br", "/bomb/zstd"])
async def test_a_bomb_is_stopped_early_and_described(egress: Egress, hostile: Hostile, path: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    failure = await fetch_failure(egress, hostile.url(path))
    assert time.monotonic() - started < 1 * SLACK
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before <= 32 * 1024
    assert failure.stats["decoded_bytes"] <= 10 * MIB
    assert failure.stats["ratio"] > 200


@pytest.mark.parametrize("coding", ["", "/gzip", "/deflate", "/br", "/zstd"])
async def test_the_body_of_a_redirect_is_not_read(egress: Egress, hostile: Hostile, coding: str) -> None:
    started = time.monotonic()
    answer = await fetch_ok(egress, hostile.url(f"/redirect-bomb{coding}"))
    assert answer.body == PAGE
    assert time.monotonic() - started < 1 * SLACK


async def test_a_larger_body_can_be_cut_instead_of_refused(egress: Egress, hostile: Hostile) -> None:
    answer = await fetch_ok(egress, hostile.url("/endless"), max_bytes=1000, truncate=True)
    assert answer.truncated
    assert len(answer.body) == 1000


async def test_a_redirect_is_followed_and_remembered(egress: Egress, hostile: Hostile) -> None:
    answer = await fetch_ok(egress, hostile.url("/to-space"))
    assert answer.url == hostile.url("/a%20page?q=caf%C3%A9")
    assert answer.chain == (hostile.url("/to-space"),)


async def test_a_loop_is_named_with_its_chain(egress: Egress, hostile: Hostile) -> None:
    failure = await fetch_failure(egress, hostile.url("/loop-a"))
    assert "redirect loop" in failure.message
    assert failure.stats["chain"] == [hostile.url("/loop-a"), hostile.url("/loop-b")]


async def test_ten_redirects_are_followed_and_no_more(egress: Egress, hostile: Hostile) -> None:
    await fetch_failure(egress, hostile.url("/hop/0"))
    assert sum(head.startswith("GET /hop/") for head in hostile.heads) == 11


async def test_secrets_do_not_follow_to_another_origin(egress: Egress, hostile: Hostile) -> None:
    secrets = {"Authorization": "Bearer s3cret", "Cookie": "id=s3cret", "X-Api-Key": "s3cret"}
    trusted = frozenset({"localhost"})
    answer = await fetch_ok(egress, hostile.url("/to-other-host"), headers=secrets, trusted_hosts=trusted)
    assert answer.status == 200
    first, second = hostile.heads
    assert first.count("s3cret") == 3
    assert "s3cret" not in second


async def test_secrets_stay_within_their_origin(egress: Egress, hostile: Hostile) -> None:
    await fetch_ok(egress, hostile.url("/to-page"), headers={"Authorization": "Bearer s3cret"})
    assert [head.count("s3cret") for head in hostile.heads] == [1, 1]


async def test_ordinary_oddities_are_accepted(egress: Egress, hostile: Hostile) -> None:
    assert (await fetch_ok(egress, hostile.url("/190-headers"))).status == 200
    assert (await fetch_ok(egress, hostile.url("/latin-header"))).header("x-name") == "café"


async def test_a_closed_port_is_refused(hostile: Hostile) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        egress = Egress(EgressPolicy((AllowEntry.parse("127.0.0.0/8:*"),)), QUICK, "t")
        assert name_of(await fetch_failure(egress, f"http://127.0.0.1:{port}/")) == "network:refused"
        await egress.close()


async def test_a_full_backlog_is_a_connect_timeout() -> None:
    egress = Egress(EgressPolicy((AllowEntry.parse("127.0.0.0/8:*"),)), QUICK, "t")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = []
        for _ in range(4):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", port))
            waiting.append(client)
        await asyncio.sleep(0.1)
        assert name_of(await fetch_failure(egress, f"http://127.0.0.1:{port}/")) == "timeout:connect"
        for client in waiting:
            client.close()
    await egress.close()


async def test_a_stalled_handshake_is_within_the_connect_budget(egress: Egress, hostile: Hostile) -> None:
    stalled = await fetch_failure(egress, f"https://127.0.0.1:{hostile.port}/")
    assert name_of(stalled) == "timeout:connect"


async def test_an_unknown_name_is_a_dns_fault(egress: Egress) -> None:
    assert name_of(await fetch_failure(egress, "http://no-such-host.invalid/")) == "network:dns"


async def test_a_name_with_one_forbidden_answer_is_refused(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers(*_: object, **__: object) -> list[object]:
        return [(2, 1, 6, "", (ip, 0)) for ip in ("93.184.216.34", "169.254.169.254")]

    monkeypatch.setattr(socket, "getaddrinfo", answers)
    failure = await fetch_failure(egress, hostile.url("/", host="rebind.example"))
    assert name_of(failure) == "policy:egress"
    assert "169.254" not in failure.message


async def test_a_name_is_dialled_at_the_address_that_was_checked(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rebinding: the second answer would be another one, and nobody asks for it."""
    asked: list[object] = []

    def answers(host: str, *_: object, **__: object) -> list[object]:
        asked.append(host)
        return [(2, 1, 6, "", ("127.0.0.1" if len(asked) == 1 else "127.0.0.2", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", answers)
    answer = await fetch_ok(egress, hostile.url("/to-page", host="rebind.example"))
    assert answer.url == hostile.url("/page", host="rebind.example")
    assert asked == ["rebind.example"]
    assert f"host: rebind.example:{hostile.port}" in hostile.heads[0].lower()


async def test_a_slow_resolver_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(0.5))
    egress = Egress(EgressPolicy(), FetchLimits(dns_s=0.1), "t")
    started = time.monotonic()
    assert name_of(await fetch_failure(egress, "http://slow.example/")) == "network:dns"
    assert time.monotonic() - started < 0.4 * SLACK
    await egress.close()


async def test_clients_are_kept_and_bounded(hostile: Hostile) -> None:
    policy = EgressPolicy((AllowEntry.parse("127.0.0.0/8:*"),))
    egress = Egress(policy, FetchLimits(max_clients=2), "t")
    for host in ("127.0.0.1", "localhost", "127.0.0.1", "localhost"):
        await fetch_ok(egress, hostile.url("/", host=host), trusted_hosts=frozenset({"localhost"}))
    assert len(egress._clients) == 2
    await egress.close()


async def test_a_trusted_host_may_be_private_and_only_on_its_port(hostile: Hostile) -> None:
    egress = Egress(EgressPolicy(), QUICK, "t")
    here = frozenset({f"localhost:{hostile.port}"})
    assert (await fetch_ok(egress, hostile.url("/", host="localhost"), trusted_hosts=here)).status == 200
    other = await egress.fetch(FetchRequest("http://localhost:1/", 1), FetchContext(here))
    assert isinstance(other, Failed)
    assert name_of(other) == "policy:egress"
    await egress.close()
