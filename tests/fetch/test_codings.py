"""Bodies as they come: packed in any coding, in any number of frames, cut into any pieces."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import brotli
import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from corral.domain.net.http_cache import CacheMode
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Fetched, Outcome
from corral.domain.runs.payload.stored import Payload
from corral.fetch.api_replay import ApiReplayExecutor
from corral.fetch.body import Body, BodyFault, BodyFull, content_coding
from corral.fetch.cache.client import PageCache
from corral.fetch.cache.disk import DiskCache
from corral.fetch.codings import CODINGS
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchRequest
from corral.fetch.http import HttpExecutor
from corral.fetch.limits import MIB, FetchLimits
from corral.fetch.robots import Robots
from tests.fetch.hostile import ROUTES, Hostile
from tests.fetch.hostile_codings import SKIPPED_FRAME, bomb_of, with_coding, zstd_with

LIMITS = FetchLimits()


def _bare_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(body) + packer.flush()


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "gzip in members": ("gzip", lambda body: gzip.compress(body[:100]) + gzip.compress(body[100:])),
    "gzip, padded": ("gzip", lambda body: gzip.compress(body) + b"\0" * 9),
    "deflate": ("deflate", zlib.compress),
    "deflate, bare": ("deflate", _bare_deflate),
    "br": ("br", lambda body: brotli.compress(body, quality=3)),
    "zstd": ("zstd", zstd.compress),
    "zstd, streamed": ("zstd", zstd_with),
    "zstd in frames": ("zstd", lambda body: zstd.compress(body[:100]) + zstd.compress(body[100:])),
    "zstd, skipping": ("zstd", lambda body: SKIPPED_FRAME + zstd.compress(body) + SKIPPED_FRAME * 2),
}


def unpack(coding: str | None, pieces: list[bytes], max_bytes: int = 10 * MIB, *, truncate: bool = False) -> bytes:
    body = Body(coding, max_bytes, LIMITS, truncate=truncate)
    try:
        for piece in pieces:
            body.feed(piece)
    except BodyFull:
        return body.whole()
    body.finish()
    return body.whole()


def fault_in(coding: str, *pieces: bytes) -> tuple[str, dict[str, int]]:
    with pytest.raises(BodyFault) as caught:
        unpack(coding, list(pieces))
    failure = caught.value.failure
    return f"{failure.code}:{failure.detail}", failure.stats


def cut(data: bytes, places: list[float]) -> list[bytes]:
    marks = [0, *sorted(int(place * len(data)) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(marks)]


bodies = st.one_of(
    st.binary(max_size=2000),
    st.builds(lambda piece, times: piece * times, st.binary(max_size=50), st.integers(0, 6000)),
)
places = st.lists(st.floats(0, 1), max_size=8)


@pytest.mark.parametrize("way", PACKERS)
@settings(max_examples=60, deadline=None)
@given(body=bodies, places=places)
def test_a_body_comes_out_as_it_went_in_whatever_the_pieces(way: str, body: bytes, places: list[float]) -> None:
    coding, pack = PACKERS[way]
    assert unpack(coding, cut(pack(body), places)) == body


@pytest.mark.parametrize("way", [way for way in PACKERS if "padded" not in way])
def test_pieces_of_one_byte_are_pieces_too(way: str) -> None:
    coding, pack = PACKERS[way]
    body = b"<p>some words</p>" * 40
    packed = pack(body)
    assert unpack(coding, [packed[at : at + 1] for at in range(len(packed))]) == body


@pytest.mark.parametrize("way", ["gzip", "deflate", "deflate, bare", "br", "zstd", "zstd, streamed"])
@settings(max_examples=40, deadline=None)
@given(share=st.floats(0, 1, exclude_max=True), places=places)
def test_whatever_is_cut_short_is_incomplete(way: str, share: float, places: list[float]) -> None:
    coding, pack = PACKERS[way]
    packed = pack(b"<p>some words and some others</p>" * 30)
    part = packed[: max(1, int(share * len(packed)))]
    assert fault_in(coding, *cut(part, places))[0] == "network:incomplete"


@pytest.mark.parametrize("coding", CODINGS)
@settings(max_examples=60, deadline=None)
@given(data=st.binary(min_size=1, max_size=3000), places=places)
def test_bytes_that_mean_nothing_are_a_fault_or_a_body_and_nothing_else(
    coding: str, data: bytes, places: list[float]
) -> None:
    name = "whole"
    try:
        unpack(coding, cut(data, places))
    except BodyFault as problem:
        name = f"{problem.failure.code}:{problem.failure.detail}"
    assert name in ("whole", "bad_response:encoding", "network:incomplete", "limit:body_too_large")


@pytest.mark.parametrize("coding", CODINGS)
def test_an_empty_body_needs_no_coding(coding: str) -> None:
    assert unpack(coding, []) == unpack(coding, [b""]) == b""


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("times", [1, 10, 100], ids=lambda times: f"{times} MB at once")
def test_a_bomb_is_stopped_where_it_grows_and_takes_no_memory(coding: str, times: int) -> None:
    first, again = bomb_of(coding)
    tracemalloc.start()
    try:
        # The beginning alone is stopped by its size; what counts is how much comes out of one piece.
        name, stats = fault_in(coding, first + again * times, *[again * times] * 10)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert name == "limit:body_too_large"
    assert MIB < stats["decoded_bytes"] <= 10 * MIB
    assert stats["ratio"] > 200 or stats["decoded_bytes"] == 10 * MIB
    assert peak < 32 * MIB


@pytest.mark.parametrize("way", PACKERS)
def test_what_is_larger_than_allowed_is_stopped_or_cut_at_the_cap(way: str) -> None:
    coding, pack = PACKERS[way]
    body = bytes(range(256)) * 40
    assert unpack(coding, [pack(body)], 1000, truncate=True) == body[:1000]
    with pytest.raises(BodyFault) as caught:
        unpack(coding, [pack(body)], 1000)
    assert caught.value.failure.stats["decoded_bytes"] == 1000


@pytest.mark.parametrize(
    "values, coding",
    [
        ([], None),
        (["identity"], None),
        (["BR"], "br"),
        ([" zstd "], "zstd"),
        (["x-gzip"], "gzip"),
        (["identity, br"], "br"),
    ],
)
def test_one_coding_is_understood(values: list[str], coding: str | None) -> None:
    assert content_coding(values) == coding


@pytest.mark.parametrize("values", [["br, br"], ["br", "gzip"], ["zstd, gzip"], ["x-br"], ["dcb"], ["compress"]])
def test_two_codings_and_unknown_ones_are_refused(values: list[str]) -> None:
    with pytest.raises(BodyFault) as caught:
        content_coding(values)
    assert caught.value.failure.detail == "encoding"


def a_task(url: str, name: str, **more: Any) -> Task:
    payload = {"url": url, "fields": [{"name": name}], "respect_robots": False, **more}
    return Task("run", 1, "page", "http", 1, Payload(payload), 10)


def record_of(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome, Fetched), outcome
    return outcome.records[0]


@pytest.mark.parametrize("path", ["/gzip", "/deflate", "/br", "/zstd"])
async def test_what_was_packed_is_answered_from_disk_as_it_was_live(
    egress: Egress, hostile: Hostile, tmp_path: Path, path: str
) -> None:
    cache = PageCache(DiskCache(tmp_path, 10 * MIB), CacheMode.REPLAY)
    executor = HttpExecutor(egress, Robots(egress, "corral-test"), cache=cache)
    live, stored = [await executor.execute(a_task(hostile.url(path), "title")) for _ in range(2)]
    assert record_of(live) == record_of(stored) == {"title": "A page"}
    assert [each.stats["cache"] for each in (live, stored) if isinstance(each, Fetched)] == ["miss", "hit"]
    assert hostile.count_requests(path) == 1


@pytest.mark.parametrize("way", PACKERS)
async def test_the_calls_of_a_recipe_may_be_answered_packed(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    coding, pack = PACKERS[way]
    monkeypatch.setitem(ROUTES, "/api", with_coding(coding, pack(b'{"name": "packed"}')))
    recipe = {
        "id": "r",
        "version": 1,
        "url_pattern": "/shop",
        "calls": [{"method": "GET", "url": "{origin}/api", "headers": {}}],
        "fields": {"name": {"call": 0, "value": "{$.name}"}},
    }
    replay = ApiReplayExecutor(egress, Robots(egress, "corral-test"))
    assert record_of(await replay.execute(a_task(hostile.url("/shop"), "name", recipe=recipe))) == {"name": "packed"}
    monkeypatch.setitem(ROUTES, "/api", ROUTES["/bomb/br"])
    outcome = await replay.execute(a_task(hostile.url("/shop"), "name", recipe=recipe))
    assert getattr(outcome, "detail", None) == "body_too_large"


async def test_all_codings_are_offered(egress: Egress, hostile: Hostile) -> None:
    await egress.fetch(FetchRequest(hostile.url("/page"), 5))
    assert "accept-encoding: gzip, deflate, br, zstd" in hostile.heads[-1].lower()
