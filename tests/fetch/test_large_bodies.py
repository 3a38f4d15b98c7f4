"""Large bodies leave the event loop to others."""

import gzip

import pytest

from corral.fetch.body import Body, BodyFault
from corral.fetch.large_bodies import MIB, BodyPace, LargeBodyPace
from corral.fetch.limits import FetchLimits


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bomb_in_one_piece_is_refused_at_the_first_megabyte() -> None:
    body = Body("gzip", 10 * MIB, FetchLimits(), truncate=False)
    with pytest.raises(BodyFault) as refused:
        body.feed(gzip.compress(bytes(100 * MIB)))
    assert refused.value.failure.detail == "body_too_large"
    assert refused.value.failure.stats["decoded_bytes"] < 2 * MIB


def test_a_piece_is_unpacked_in_steps() -> None:
    text = bytes(range(256)) * (3 * MIB // 256)
    body = Body("gzip", 10 * MIB, FetchLimits(max_ratio=10_000), truncate=False)
    sizes = [body.size for _ in body.feed_in_steps(gzip.compress(text))]
    body.finish()
    assert len(sizes) > 8
    assert sizes == sorted(sizes)
    assert body.whole() == text


def test_large_bodies_share_one_rate() -> None:
    clock = Clock()
    pace = LargeBodyPace(clock)
    assert [round(pace.delay_s(), 3) for _ in range(3)] == [0.0, 0.016, 0.032]
    clock.now += 10
    assert pace.delay_s() == 0.0


async def test_the_first_megabyte_of_a_body_is_free() -> None:
    pace = LargeBodyPace(Clock())
    ordinary, large = BodyPace(pace), BodyPace(pace)
    await ordinary.wait(MIB)
    assert pace.delay_s() == 0.0
    await large.wait(3 * MIB)
    assert round(pace.delay_s(), 3) == 0.048, "two megabytes are booked"
