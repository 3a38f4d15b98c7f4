"""img2dataset as its documentation recommends: one process for each core, threads for the downloads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

from bench.dataset.images import path_of
from bench.model import Place, Result

_THREADS = 64
_COMMAND = """
import sys
from img2dataset import download
if __name__ == "__main__":
    download(url_list=sys.argv[1], output_folder=sys.argv[2], image_size=256, resize_mode="keep_ratio_largest",
             resize_only_if_bigger=True, encode_quality=95, encode_format="jpg", output_format="webdataset",
             processes_count=int(sys.argv[3]), thread_count=int(sys.argv[4]), number_sample_per_shard=int(sys.argv[5]),
             input_format="txt", enable_wandb=False)
"""


class Img2Dataset:
    name = "img2dataset"

    def __init__(self, place: Place) -> None:
        self._folder = place.folder
        self._url = place.services["images"].url

    def measure(self, count: int) -> Result:
        urls, output = self._folder / "urls.txt", self._folder / "out"
        urls.write_text("".join(f"{self._url}{path_of(number)}\n" for number in range(count)))
        script = self._folder / "run.py"
        script.write_text(_COMMAND)
        environment = {**os.environ, "NO_ALBUMENTATIONS_UPDATE": "1"}
        processes = os.cpu_count() or 1
        shard_size = -(-count // (2 * processes))  # work for every process
        arguments = [str(urls), str(output), str(processes), str(_THREADS), str(shard_size)]
        subprocess.run([sys.executable, str(script), *arguments], check=True, env=environment, capture_output=True)
        took_s = _measure_shards(output)
        found = _count_images(output)
        assert found == count, f"{found} images of {count}"
        return Result(
            count / took_s, count, took_s, f"{processes} processes, {_THREADS} threads; its start is not counted"
        )


def _measure_shards(folder: Path) -> float:
    """From the start of the first shard to the end of the last one, by its own clock: its start takes seconds."""
    stats = [json.loads(path.read_text()) for path in folder.glob("*_stats.json")]
    return float(max(each["end_time"] for each in stats) - min(each["start_time"] for each in stats))


def _count_images(folder: Path) -> int:
    count = 0
    for path in folder.glob("*.tar"):
        with tarfile.open(path) as shard:
            count += sum(name.endswith(".jpg") for name in shard.getnames())
    return count
