"""What the cores can do: decode, reduce and encode the same images, and nothing else."""

from __future__ import annotations

import io
import multiprocessing
import os
import time

from PIL import Image

from bench.dataset.images import make_photographs
from bench.model import Place, Result

_SIZE = (256, 192)
_DIFFERENT = 100


class PillowOnly:
    name = "Pillow alone"

    def __init__(self, place: Place) -> None:
        pass

    def measure(self, count: int) -> Result:
        processes = os.cpu_count() or 1
        bodies = list(make_photographs(_DIFFERENT))
        work = [bodies[number % _DIFFERENT] for number in range(count)]
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            pool.map(_reduce, bodies[: 4 * processes])  # decoders are loaded with the first image
            began = time.perf_counter()
            spent = pool.map(_reduce, work, chunksize=16)
            took_s = time.perf_counter() - began
        notes = f"{processes} processes; no request, no hash, nothing written"
        return Result(count / took_s, count, took_s, notes, {"cpu_ms": 1000 * sum(spent) / count})


def _reduce(body: bytes) -> float:
    """Return the processor seconds it took."""
    began = time.process_time()
    image = Image.open(io.BytesIO(body), formats=("JPEG",))
    image.draft("RGB", _SIZE)
    image.resize(_SIZE, Image.Resampling.HAMMING).save(io.BytesIO(), "JPEG", quality=95)
    return time.process_time() - began
