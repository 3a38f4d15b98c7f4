"""The dataset store of a process without a database: every method calls the node."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from corral.domain.datasets.image import FoundImage, ImageResult, ImageRow, ImageVerdict, NearPair
from corral.domain.ports.execution import StoreCall

_AT_ONCE = 1000
_rows = list[ImageRow]


class BuildStore:
    """The images of one build."""

    def __init__(self, call: StoreCall, build: str) -> None:
        self._call = call
        self.build = build

    async def open(self, name: str, run_id: str) -> dict[str, Any]:
        return dict(await self._call_node("dataset_open", name=name, run_id=run_id))

    async def note(self, progress: Mapping[str, Any]) -> None:
        await self._call_node("dataset_note", progress=dict(progress))

    async def add_images(self, images: Sequence[FoundImage], limit: int | None) -> tuple[int, int]:
        """Add images; return the number of new ones and of all."""
        new = total = 0
        for start in range(0, max(1, len(images)), _AT_ONCE):
            part = msgspec.to_builtins(list(images[start : start + _AT_ONCE]))
            added, total = await self._call_node("dataset_add_images", found=part, limit=limit)
            new += added
        return new, total

    async def begin_download(self, recipes: Sequence[str], *, retries: bool) -> int:
        return int(await self._call_node("dataset_begin_download", recipes=list(recipes), retries=retries))

    async def step_download(
        self, results: Sequence[ImageResult], limit: int
    ) -> tuple[list[ImageRow], int, float | None]:
        rows, pending, wait_s = await self._call_node(
            "dataset_step_download", results=msgspec.to_builtins(list(results)), limit=limit
        )
        return msgspec.convert(rows, _rows), pending, wait_s

    async def count_images(self) -> list[tuple[str, str, int]]:
        return [(state, reason, count) for state, reason, count in await self._call_node("dataset_count_images")]

    async def pages(self) -> AsyncIterator[list[ImageRow]]:
        """Yield all images in the order of their keys, page by page."""
        after = ""
        while True:
            rows = msgspec.convert(await self._call_node("dataset_page_images", after=after, limit=_AT_ONCE), _rows)
            if not rows:
                return
            yield rows
            after = rows[-1].key

    async def judge(self, verdicts: Sequence[ImageVerdict]) -> None:
        for start in range(0, len(verdicts), _AT_ONCE):
            part = msgspec.to_builtins(list(verdicts[start : start + _AT_ONCE]))
            await self._call_node("dataset_judge_images", verdicts=part)

    async def add_pairs(self, pairs: Sequence[NearPair], indexed: Sequence[str]) -> None:
        """Store the pairs first: an image counts as indexed when all its pairs are stored."""
        for start in range(0, len(pairs), _AT_ONCE):
            part = msgspec.to_builtins(list(pairs[start : start + _AT_ONCE]))
            await self._call_node("dataset_add_pairs", pairs=part, indexed=[])
        for start in range(0, len(indexed), _AT_ONCE):
            await self._call_node("dataset_add_pairs", pairs=[], indexed=list(indexed[start : start + _AT_ONCE]))

    async def forget_pairs(self) -> None:
        await self._call_node("dataset_forget_pairs")

    async def near_pairs(self, distance: int) -> list[NearPair]:
        return msgspec.convert(await self._call_node("dataset_near_pairs", distance=distance), list[NearPair])

    async def _call_node(self, call: str, **arguments: Any) -> Any:
        return await self._call(call, {"build": self.build, **arguments})
