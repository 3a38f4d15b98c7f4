"""3,000 photographs of 640 x 480 from nginx, each made 256 wide and written into tar shards.

Corral's row is a whole build: discovered, downloaded, checked, hashed, near duplicates looked for, labelled, exported
and reported, every image durable before it counts. img2dataset downloads, resizes and writes. Both use the cores of
the machine, write JPEG of quality 95, and keep the proportions. Pillow alone decodes, reduces and encodes the same
images in memory: no build can be faster.
"""

from __future__ import annotations

from bench.model import Bench, Entry, Metric

_IMAGES = ("images",)

ENTRIES = (
    Entry("corral dataset build", "bench.dataset.corral_side:Build", "corral", 3_000, 300, _IMAGES, 300.0),
    Entry("Pillow alone", "bench.dataset.yardstick:PillowOnly", "yardstick", 3_000, 300),
    Entry("img2dataset", "bench.dataset.peer_side:Img2Dataset", "peer", 3_000, 300, _IMAGES, 300.0),
)

BENCH = Bench(
    name="dataset",
    title="Images of 640 x 480 from nginx, resized to 256 and written into shards",
    unit="images/s",
    entries=ENTRIES,
    metrics=(
        Metric("download_per_s", "images/s while downloading", higher_is_better=True),
        Metric("cpu_ms", "processor ms per image"),
    ),
    aim=4.0,
)
