"""Corral, embedded: the workflow of a dataset build, its manifest checked afterwards."""

from __future__ import annotations

import asyncio
import json
import tarfile
import time
from pathlib import Path
from typing import Any

import psutil

from bench.dataset.images import path_of
from bench.model import Place, Result
from corral.runtime.process import serve
from corral.settings import load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_node

_AT_ONCE = 64


class Build:
    name = "corral dataset build"

    def __init__(self, place: Place) -> None:
        self._folder = place.folder
        self._url = place.services["images"].url

    def measure(self, count: int) -> Result:
        return serve(self._measure(count))

    async def _measure(self, count: int) -> Result:
        settings = load_settings(
            data_dir=self._folder / "var", egress_allow="127.0.0.1/32:*", workers=1, host_concurrency=_AT_ONCE
        )
        async with open_node(settings) as app:
            await self._build(app, "warm", 32)  # decoders are started with the first image
            before_s, began = _read_cpu_s(), time.perf_counter()
            outputs = await self._build(app, "out", count)
            took_s, spent_s = time.perf_counter() - began, _read_cpu_s() - before_s
        members = await asyncio.to_thread(_count_images, Path(self._folder / "out"))
        assert members == count, f"{members} images of {count}"
        notes = f"SQLite, synchronous=FULL, {_AT_ONCE} at once; near duplicates, labels and report included"
        metrics = {"download_per_s": count / outputs["download_s"], "cpu_ms": 1000 * spent_s / count}
        return Result(count / took_s, count, took_s, notes, metrics)

    async def _build(self, app: App, name: str, count: int) -> dict[str, Any]:
        (self._folder / "urls.txt").write_text("".join(f"{self._url}{path_of(number)}\n" for number in range(count)))
        config = {
            "dataset_name": name,
            "categories": {"images": []},
            "sources": [{"type": "urls", "file": str(self._folder / "urls.txt")}],
            "options": {
                "output_dir": str(self._folder / name),
                "image_size": 256,
                "quality": 95,
                "export": ["webdataset"],
                "concurrency": _AT_ONCE,
            },
        }
        spec = app.workflows.check(template="dataset-build", parameters={"config": config})
        now, _ = await app.workflows.create(spec)
        while not (now := await app.workflows.get(now.id)).is_over:
            await app.pulse.wait(0.02)
        assert now.run.state.value == "completed", json.dumps(now.run.stats)[:2000]
        download = next(step for step in now.steps if step.spec.key == "download")
        return {"download_s": download.duration_s}


def _read_cpu_s() -> float:
    """Of this process, its workers and their decoders."""
    here = psutil.Process()
    times = [process.cpu_times() for process in (here, *here.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def _count_images(folder: Path) -> int:
    count = 0
    for path in folder.glob("shards/*.tar"):
        with tarfile.open(path) as shard:
            count += sum(name.endswith(".jpg") for name in shard.getnames())
    return count
