"""Decoder processes: batches in order, and a hostile image costs only itself."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PIL import Image

from corral.domain.datasets.options import MIB, DatasetOptions
from corral.images.messages import DecoderLimits
from corral.images.pool import DecoderError, ImagePool
from tests.images.builders import encode, picture
from tests.waiting import until

RECIPE = DatasetOptions("out", max_pixels=500_000_000).recipe
SMALL = [encode(picture(seed)) for seed in range(3)]
LARGE = encode(Image.new("RGB", (5000, 5000), "red"), "PNG")


@asynccontextmanager
async def open_pool(limits: DecoderLimits) -> AsyncIterator[ImagePool]:
    pool = ImagePool(limits)
    try:
        yield pool
    finally:
        await pool.close()


async def test_a_batch_is_answered_in_order_by_one_process_that_stays() -> None:
    async with open_pool(DecoderLimits(processes=1)) as pool:
        first = await pool.process(SMALL, RECIPE)
        pids = pool.pids
        again = await pool.process(SMALL, RECIPE)
        assert [each.facts for each in first] == [each.facts for each in again]
        assert len({each.facts.sha256 for each in first}) == 3
        assert pool.pids == pids
        assert len(pids) == 1
    await until(lambda: not Path(f"/proc/{pids[0]}").exists())


async def test_an_image_that_takes_too_long_is_given_up_and_the_others_are_processed() -> None:
    async with open_pool(DecoderLimits(cpu_s=0.1)) as pool:
        done = await pool.process([SMALL[0], LARGE, SMALL[1]], RECIPE)
    assert [each.facts.broken for each in done] == ["", "too_slow", ""]


async def test_an_image_that_takes_too_much_memory_is_given_up() -> None:
    async with open_pool(DecoderLimits(address_bytes=200 * MIB)) as pool:
        done = await pool.process([LARGE, SMALL[1]], RECIPE)
    assert [each.facts.broken for each in done] == ["too_much_memory", ""]


async def test_a_decoder_that_is_killed_from_outside_is_replaced() -> None:
    async with open_pool(DecoderLimits(processes=1)) as pool:
        await pool.process(SMALL[:1], RECIPE)
        os.kill(pool.pids[0], 9)
        done = await pool.process(SMALL, RECIPE)
    assert [each.facts.broken for each in done] == ["", "", ""]


async def test_a_decoder_that_cannot_start_is_not_blamed_on_an_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no such library >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    async with open_pool(DecoderLimits(processes=1)) as pool:
        with pytest.raises(DecoderError, match="no such library"):
            await pool.process(SMALL, RECIPE)
        assert pool.pids == []
