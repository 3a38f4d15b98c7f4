"""Whatever a target does, an attempt ends in time and says exactly what happened: by plain HTTP and by browser."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from corral.domain.runs.outcome import Failed, Fetched
from corral.domain.runs.retry import RetryPolicy, decide
from corral.domain.runs.run import RunAction
from corral.fetch.egress import dns
from corral.fetch.limits import MIB
from tests.domain.runs.builders import A_RUN, NOW
from tests.fetch import hostile_codings
from tests.fetch.arena import EXECUTORS, Arena, arena_with, forget_peak, name_of, peak_bytes, with_executors
from tests.fetch.hostile import ROUTES, Request

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena() -> AsyncIterator[Arena]:
    async with arena_with() as made:
        await made.run("browser", made.den.url("/page"), "title", timeout_s=30)
        yield made


# What is asked for, what plain HTTP says, what the browser says where that is something else.
MISBEHAVIOURS = [
    # Never finished: the budget of the whole attempt, or the one for what is missing.
    ("/trickle", "timeout:total", "timeout:browser"),
    ("/trickled-headers", "timeout:first_byte", "timeout:browser"),
    ("/silent", "timeout:first_byte", "timeout:browser"),
    ("/1xx", "timeout:first_byte", "bad_response:protocol"),
    ("/endless/interim", "timeout:first_byte", "bad_response:protocol"),
    ("/endless/headers", "bad_response:headers", ""),
    ("/endless/trailers", "bad_response:protocol", "timeout:browser"),
    ("/endless/slow-trailers", "timeout:read", "timeout:browser"),
    ("/endless/extension", "bad_response:protocol", ""),
    ("/stops-midway", "timeout:read", "timeout:browser"),
    # Bodies of the wrong length.
    ("/announces-10gb", "limit:body_too_large", ""),
    ("/length/none", "fetched", ""),
    ("/length/too-small", "fetched", ""),
    ("/length/same-twice", "fetched", ""),
    ("/length/both", "fetched", ""),
    ("/length/words", "bad_response:protocol", ""),
    ("/two-lengths", "bad_response:protocol", ""),
    ("/negative-length", "bad_response:protocol", ""),
    ("/short", "network:incomplete", ""),
    ("/short-chunk", "network:incomplete", ""),
    ("/bad-chunk", "bad_response:protocol", ""),
    # Connections.
    ("/reset", "network:reset", ""),
    ("/empty-answer", "network:reset", ""),
    ("/reset-midway", "network:reset", "network:incomplete"),
    ("/not-http", "bad_response:protocol", ""),
    # Encodings.
    ("/gzip-double", "bad_response:encoding", ""),
    ("/gzip-stacked", "bad_response:encoding", ""),
    ("/gzip-corrupt", "bad_response:encoding", ""),
    *((path, "fetched", "") for path in hostile_codings.GOOD),
    *((path, "bad_response:encoding", "") for path in hostile_codings.BAD if path not in hostile_codings.LENIENTLY),
    *((path, "bad_response:encoding", "fetched") for path in hostile_codings.LENIENTLY),
    *((path, "network:incomplete", "fetched") for path in hostile_codings.CUT),
    # Chromium takes what it could unpack for the whole.
    ("/gzip-cut", "network:incomplete", "fetched"),
    *((f"/redirect-bomb{coding}", "fetched", "") for coding in ("", "/gzip", "/deflate", "/br", "/zstd")),
    # Redirects.
    ("/loop", "limit:redirects", ""),
    ("/loop-a", "limit:redirects", ""),
    ("/hop/0", "limit:redirects", ""),
    ("/to-file", "policy:scheme", ""),
    ("/to-javascript", "policy:scheme", ""),
    ("/to-ftp", "policy:scheme", ""),
    ("/to-other-port", "policy:egress", ""),
    ("/to-nowhere", "bad_response:location", ""),
    ("/to-invalid-utf8", "bad_response:location", ""),
    ("/to-1mb", "bad_response:headers", ""),
    ("/to-userinfo", "policy:url", "fetched"),
    ("/to-backslash", "policy:url", "policy:egress"),
    # To places inside.
    ("/to-metadata", "policy:egress", ""),
    ("/to-mapped", "policy:egress", ""),
    ("/to-decimal", "policy:egress", ""),
    ("/metadata-301", "policy:egress", ""),
    ("/metadata-303", "policy:egress", ""),
    ("/metadata-307", "policy:egress", ""),
    ("/metadata-308", "policy:egress", ""),
    ("/refresh/meta", "fetched", "policy:egress"),
    ("/refresh/script", "fetched", "policy:egress"),
    ("/refresh/header", "fetched", "policy:egress"),
    ("/refresh/mapped", "fetched", "policy:egress"),
    # Headers.
    ("/10k-headers", "bad_response:headers", ""),
    ("/1mb-header", "bad_response:headers", ""),
    ("/100kb-header", "bad_response:headers", ""),
    ("/headers/5000-cookies", "bad_response:headers", ""),
    ("/headers/300-cookies", "bad_response:headers", ""),
    ("/headers/1mb-type", "bad_response:headers", ""),
    ("/headers/bare-cr", "bad_response:headers", ""),
    ("/headers/nul", "bad_response:headers", ""),
    ("/headers/control", "bad_response:headers", ""),
    # Character sets.
    ("/charset/wrong", "fetched", ""),
    ("/charset/unknown", "fetched", ""),
    ("/charset/two", "fetched", ""),
    ("/charset/utf7", "fetched", ""),
    ("/charset/utf16", "fetched", ""),
    ("/charset/utf16-undeclared", "fetched", ""),
    ("/charset/invalid", "fetched", ""),
    ("/charset/nul", "fetched", ""),
    ("/charset/surrogates", "fetched", ""),
    ("/charset/entity", "fetched", ""),
    ("/charset/codec", "fetched", ""),
]
BOMBS = [
    ("/bomb/gzip", "limit:body_too_large"),
    ("/bomb/deflate", "limit:body_too_large"),
    ("/bomb/br", "limit:body_too_large"),
    ("/bomb/zstd", "limit:body_too_large"),
    ("/bomb/double", "bad_response:encoding"),
    ("/bomb/br-in-zstd", "bad_response:encoding"),
    ("/bomb/plain", "limit:body_too_large"),
    ("/bomb/announced", "limit:body_too_large"),
    ("/bomb/chunked", "limit:body_too_large"),
    ("/gzip-bomb", "limit:body_too_large"),
]
# A browser takes many times as long. Most of these end as others of the list do that stay; the character sets are in
# TITLES, the addresses in tests/fetch/egress/test_ssrf_browser.py.
LONG_IN_BROWSER = frozenset(
    {
        *("/trickled-headers", "/endless/slow-trailers", "/endless/extension"),
        *("/length/too-small", "/length/same-twice", "/two-lengths", "/negative-length", "/short-chunk"),
        *("/empty-answer", "/gzip-stacked", "/zstd-streamed", "/zstd-checked", "/zstd-frames", "/zstd-skipped"),
        *("/br-not", "/zstd-not", "/zstd-trailing", "/zstd-dictionary", "/zstd-wrong-sum", "/zstd-cut-between"),
        *("/br-double", "/br-of-zstd", "/zstd-of-gzip"),
        *("/redirect-bomb/gzip", "/redirect-bomb/deflate", "/redirect-bomb/zstd", "/loop-a"),
        *("/to-javascript", "/to-ftp", "/to-invalid-utf8", "/to-decimal", "/refresh/mapped"),
        *("/metadata-301", "/metadata-303", "/metadata-308"),
        *("/100kb-header", "/headers/300-cookies", "/headers/1mb-type", "/headers/bare-cr", "/headers/control"),
        *("/charset/wrong", "/charset/unknown", "/charset/two", "/charset/utf7", "/charset/utf16"),
        *("/charset/invalid", "/charset/nul", "/charset/entity", "/charset/codec"),
        *("/bomb/deflate", "/bomb/br-in-zstd", "/bomb/announced", "/bomb/chunked", "/gzip-bomb"),
    }
)
# Short where the whole of it is what must run out; else long enough for its parts on a busy machine.
DEADLINE_S = {"timeout:total": 2.0, "timeout:browser": 2.0}


@pytest.mark.parametrize("path, by_http, by_browser, executor", with_executors(MISBEHAVIOURS, LONG_IN_BROWSER))
async def test_each_misbehaviour_ends_in_time_with_its_own_name(
    arena: Arena, executor: str, path: str, by_http: str, by_browser: str
) -> None:
    expected = (by_browser if executor == "browser" else "") or by_http
    timeout_s = DEADLINE_S.get(expected, 15.0)
    outcome = await arena.run(executor, arena.den.url(path), "title", timeout_s=timeout_s)
    assert name_of(outcome) == expected, outcome
    assert arena.took_s < timeout_s + 1


@pytest.mark.parametrize("path, by_http, executor", with_executors(BOMBS, LONG_IN_BROWSER))
async def test_a_bomb_is_stopped_in_time_and_takes_no_memory(
    arena: Arena, executor: str, path: str, by_http: str
) -> None:
    before = forget_peak()
    outcome = await arena.run(executor, arena.den.url(path), "title", timeout_s=15)
    # 64 MiB may come from the wire before the browser says how large the page is.
    by_browser = {"/bomb/plain": (by_http, "limit:browser")}
    by_browser["/bomb/chunked"] = by_browser["/bomb/plain"]
    assert name_of(outcome) in (by_browser.get(path, (by_http,)) if executor == "browser" else (by_http,)), outcome
    assert arena.took_s < (3 if executor == "http" else 16)
    assert peak_bytes() - before <= 32 * MIB


@pytest.mark.parametrize(
    "executor, host, sent",
    [
        ("http", "127.0.0.1", "zstd"),
        ("http", "a.test", "zstd"),
        ("browser", "127.0.0.1", "zstd"),
        ("browser", "a.test", "gzip"),
    ],
)
async def test_a_site_is_offered_the_codings_that_are_taken_from_it(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, executor: str, host: str, sent: str
) -> None:
    """Chromium takes brotli and zstd over TLS only, or from this machine."""
    known = dns._addresses
    chosen: list[str] = []
    monkeypatch.setattr(dns, "_addresses", lambda name: ("127.0.0.1",) if name == "a.test" else known(name))

    async def pack(request: Request) -> None:
        [offered] = [line for line in request.head.lower().split("\r\n") if line.startswith("accept-encoding:")]
        chosen.append(next(coding for coding in ("zstd", "br", "gzip") if coding in offered))
        await ROUTES[f"/{chosen[-1]}"](request)

    monkeypatch.setitem(ROUTES, "/packed", pack)
    outcome = await arena.run(executor, arena.den.url("/packed", host=host), "title", timeout_s=20)
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records == ({"title": "A page"},)
    assert chosen == [sent]


RETRY_AFTER = [
    ("999999999", RunAction.FAIL, None),
    ("-5", RunAction.RETRY, None),
    ("0", RunAction.RETRY, 1.0),
    ("7", RunAction.RETRY, 7.0),
    ("Thu,+01+Jan+1970+00:00:00+GMT", RunAction.RETRY, 1.0),
    ("Fri,+31+Dec+9999+23:59:59+GMT", RunAction.FAIL, None),
    ("soon", RunAction.RETRY, None),
    ("1" * 1500, RunAction.FAIL, None),
]
# The decision does not depend on the strategy that read the header.
LATE_VALUES = frozenset({"-5", "0", RETRY_AFTER[4][0], RETRY_AFTER[5][0], RETRY_AFTER[7][0]})


@pytest.mark.parametrize("value, move, wait_s, executor", with_executors(RETRY_AFTER, LATE_VALUES))
async def test_a_target_may_send_us_away_for_an_hour_and_no_longer(
    arena: Arena, executor: str, value: str, move: RunAction, wait_s: float | None
) -> None:
    outcome = await arena.run(executor, arena.den.url(f"/retry-after/429?{value}"), "title", timeout_s=20)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retry_after) == ("rate_limited", value.replace("+", " "))
    transition = decide(A_RUN, outcome, RetryPolicy(), NOW)
    assert transition.action is move
    if move is RunAction.FAIL:
        assert transition.stats["retry_after_s"] > 3600
    elif wait_s is not None:
        assert transition.due_in_s == wait_s
    else:  # nothing usable: our own backoff
        assert 8 <= transition.due_in_s <= 12


TITLES = [
    ("/charset/wrong", "Caf\ufffd", "utf-8"),
    ("/charset/unknown", "Café", "utf-8"),
    ("/charset/two", "Café", "utf-8"),
    ("/charset/utf7", "+ADw-script+AD4-", "utf-8"),
    ("/charset/utf16", "Café", "utf-16-le"),
    ("/charset/invalid", "Caf\ufffd\ufffd", "utf-8"),
    ("/charset/nul", "Cafe", "utf-8"),
    ("/charset/entity", "Caf\ufffd\ufffd", "utf-8"),
    ("/charset/codec", "Caf", "utf-8"),
]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("path, title, encoding", TITLES, ids=[each[0] for each in TITLES])
async def test_whatever_the_characters_the_record_can_be_stored(
    arena: Arena, executor: str, path: str, title: str, encoding: str
) -> None:
    outcome = await arena.run(executor, arena.den.url(path), "title", "price", timeout_s=20)
    assert isinstance(outcome, Fetched), outcome
    [record] = outcome.records
    # A browser shows a NUL as a replacement, and takes an unknown set for Latin.
    is_guess = (executor, path) == ("browser", "/charset/unknown")
    assert is_guess or record["title"].replace("\ufffd", "") == title.replace("\ufffd", "")
    assert record["price"].strip("\ufffd") == "9"
    assert not any(char == "\0" or "\ud800" <= char <= "\udfff" for value in record.values() for char in value)
    if executor == "http":
        assert (record["title"], outcome.stats["encoding"]) == (title, encoding)
        assert outcome.stats["replacements"] == count_replacements(path)


def count_replacements(path: str) -> int:
    return {"/charset/wrong": 1, "/charset/invalid": 2}.get(path, 0)
