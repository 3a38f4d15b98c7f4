"""Calls of dataset builds: arguments arrive as JSON and are converted to the types of the store."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from corral.domain.datasets.image import FoundImage, ImageResult, ImageVerdict, NearPair
from corral.domain.ports.datasets import DatasetStore


class DatasetCalls:
    def __init__(self, store: DatasetStore) -> None:
        self._store = store

    def by_name(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        store = self._store
        return {
            "dataset_open": store.open_build,
            "dataset_note": store.note_build,
            "dataset_add_images": self._add_images,
            "dataset_begin_download": store.begin_download,
            "dataset_step_download": self._step_download,
            "dataset_count_images": store.count_images,
            "dataset_page_images": store.page_images,
            "dataset_judge_images": self._judge_images,
            "dataset_add_pairs": self._add_pairs,
            "dataset_forget_pairs": store.forget_pairs,
            "dataset_near_pairs": store.near_pairs,
        }

    async def _add_images(self, build: str, found: list[Any], limit: int | None) -> tuple[int, int]:
        return await self._store.add_images(build, msgspec.convert(found, list[FoundImage]), limit)

    async def _step_download(self, build: str, results: list[Any], limit: int) -> Any:
        return await self._store.step_download(build, msgspec.convert(results, list[ImageResult]), limit)

    async def _judge_images(self, build: str, verdicts: list[Any]) -> None:
        await self._store.judge_images(build, msgspec.convert(verdicts, list[ImageVerdict]))

    async def _add_pairs(self, build: str, pairs: list[Any], indexed: list[str]) -> None:
        await self._store.add_pairs(build, msgspec.convert(pairs, list[NearPair]), indexed)
