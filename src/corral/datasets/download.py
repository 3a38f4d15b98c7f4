"""Download the pending images of a build: fetch, decode in batches, store a batch in one pack and one transaction."""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import NamedTuple

from corral.datasets.context import BuildContext
from corral.domain.datasets.config import fingerprint
from corral.domain.datasets.download_decision import decide_download
from corral.domain.datasets.image import ImageFacts, ImageResult, ImageRow, ImageState
from corral.domain.datasets.options import ImageRecipe

_BATCH = 256  # images per transaction
_DECODED_AT_ONCE = 16
_MAX_HELD_BYTES = 64 * 1024 * 1024  # of images that are fetched and not stored yet
_STORE_EVERY_S = 0.25
_MAX_WAIT_S = 5.0
_MAX_THOROUGHNESS = 2


class _Arrival(NamedTuple):
    row: ImageRow
    body: bytes


class _Stored(NamedTuple):
    row: ImageRow
    facts: ImageFacts
    body: bytes


class Downloader:
    def __init__(self, context: BuildContext) -> None:
        self._context = context
        self._options = context.config.options
        self._recipe = self._options.recipe
        self._recipe_key, self._accepted = name_recipes(self._recipe)
        self._waiting: asyncio.Queue[ImageRow] = asyncio.Queue()
        self._arrived: asyncio.Queue[_Arrival] = asyncio.Queue()
        self._decoded: list[_Stored] = []
        self._failed: list[ImageResult] = []
        self._held_bytes = 0
        self._leased = 0  # images that are not reported yet
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    async def run(self) -> int:
        """Download the pending images; return how many this run settled."""
        store, is_repeated = self._context.store, bool(self._context.progress.get("downloads"))
        total = await store.begin_download(self._accepted, retries=is_repeated)
        helpers = [asyncio.create_task(self._fetch_images()) for _ in range(self._options.concurrency)]
        helpers += [asyncio.create_task(self._decode_images()) for _ in range(self._context.pool.processes)]
        working = asyncio.create_task(self._store_batches(total))
        try:
            done, _ = await asyncio.wait([working, *helpers], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # a helper ends only with an exception
            return working.result()
        finally:
            for task in (working, *helpers):
                task.cancel()
            await asyncio.gather(working, *helpers, return_exceptions=True)

    async def _store_batches(self, total: int) -> int:
        settled, pending = 0, total
        wait_s: float | None = 0.0
        while pending or self._leased or self._decoded or self._failed:
            decoded, self._decoded = self._decoded, []
            failed, self._failed = self._failed, []
            results = [*await self._write_pack(decoded), *failed]
            want = max(0, 2 * _BATCH - self._waiting.qsize()) if self._leased < 4 * _BATCH else 0
            rows, pending, wait_s = await self._context.store.step_download(results, want)
            self._leased += len(rows) - len(results)
            settled += sum(1 for result in results if result.state != ImageState.PENDING)
            for row in rows:
                self._waiting.put_nowait(row)
            self._context.report(settled, total)
            if not rows and not (self._decoded or self._failed):
                await self._wait(wait_s)
            elif len(self._decoded) + len(self._failed) < _BATCH:
                await self._wait(_STORE_EVERY_S)
        return settled

    async def _wait(self, wait_s: float | None) -> None:
        """Wait until a batch is ready, all leased images are, or a pending image is due."""
        limit_s = _STORE_EVERY_S if self._leased else min(max(wait_s or 0.0, 0.01), _MAX_WAIT_S)
        until = time.monotonic() + limit_s
        while (left_s := until - time.monotonic()) > 0:
            ready = len(self._decoded) + len(self._failed)
            if ready >= _BATCH or (ready and ready >= self._leased):
                return
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), left_s)

    async def _write_pack(self, decoded: Sequence[_Stored]) -> list[ImageResult]:
        if not decoded:
            return []
        locations = await asyncio.to_thread(self._context.packs.write, [image.body for image in decoded])
        results = []
        for image, location in zip(decoded, locations, strict=True):
            results.append(
                ImageResult(
                    image.row.key,
                    ImageState.DOWNLOADED,
                    attempt=image.row.attempt + 1,
                    run_id=self._context.run_id,
                    pack=location.pack,
                    start=location.start,
                    size=location.size,
                    recipe=self._recipe_key,
                    facts=image.facts,
                )
            )
        return results

    async def _fetch_images(self) -> None:
        while True:
            row = await self._waiting.get()
            while self._held_bytes > _MAX_HELD_BYTES:
                self._room.clear()
                await self._room.wait()
            answer = await self._context.fetcher.fetch_image(row.url, self._context.rules)
            if isinstance(answer, bytes):
                self._held_bytes += len(answer)
                self._arrived.put_nowait(_Arrival(row, answer))
                continue
            decision = decide_download(row.attempt, answer, self._options.max_retries, datetime.now(UTC))
            self._failed.append(
                ImageResult(
                    row.key, decision.to, decision.reason, decision.attempt, decision.due_in_s, self._context.run_id
                )
            )
            self._changed.set()

    async def _decode_images(self) -> None:
        while True:
            batch = [await self._arrived.get()]
            while len(batch) < _DECODED_AT_ONCE and not self._arrived.empty():
                batch.append(self._arrived.get_nowait())
            bodies = [arrival.body for arrival in batch]
            for arrival, processed in zip(batch, await self._context.pool.process(bodies, self._recipe), strict=True):
                self._decoded.append(_Stored(arrival.row, processed.facts, processed.output or arrival.body))
            self._held_bytes -= sum(map(len, bodies))
            if self._held_bytes <= _MAX_HELD_BYTES:
                self._room.set()
            self._changed.set()


def name_recipes(recipe: ImageRecipe) -> tuple[str, list[str]]:
    """Return the name of a recipe, and of those with equal images that are inspected at least as thoroughly."""
    transform = {name: value for name, value in asdict(recipe).items() if name not in ("decodes", "inspects")}
    name, thoroughness = fingerprint(transform)[:16], recipe.thoroughness
    return f"{name}:{thoroughness}", [f"{name}:{rank}" for rank in range(thoroughness, _MAX_THOROUGHNESS + 1)]
