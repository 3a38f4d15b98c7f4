"""Photographs, near enough: soft shapes with the noise of a camera, 640 x 480, about 60 KB as JPEG."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from bench.pages import serve_folder
from bench.services import Service

COUNT = 3_000
SIZE = (640, 480)
_NOISES = 8


def path_of(number: int) -> str:
    return f"image-{number}.jpg"


def make_photographs(count: int) -> Iterator[bytes]:
    dice = np.random.default_rng(1)
    noises = [dice.integers(-10, 11, (SIZE[1], SIZE[0], 3), dtype=np.int16) for _ in range(_NOISES)]
    for number in range(count):
        shapes = Image.fromarray(dice.integers(0, 256, (9, 12, 3), dtype=np.uint8))
        pixels = np.asarray(shapes.resize(SIZE, Image.Resampling.BICUBIC), dtype=np.int16)
        noisy = np.clip(pixels + noises[number % _NOISES], 0, 255).astype(np.uint8)
        target = io.BytesIO()
        Image.fromarray(noisy).save(target, "JPEG", quality=85)
        yield target.getvalue()


@contextlib.contextmanager
def photographs(count: int = COUNT) -> Iterator[Service]:
    """The images on a free port, until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="bench-images-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for number, body in enumerate(make_photographs(count)):
            (folder / path_of(number)).write_bytes(body)
        with serve_folder(folder) as service:
            yield service
