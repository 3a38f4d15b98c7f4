"""Dataset builds and their images."""

from collections.abc import Mapping, Sequence
from typing import Any

from corral.domain.datasets.image import FoundImage, ImageResult, ImageRow, ImageVerdict, NearPair
from corral.store.database import Database
from corral.store.queries import dataset_retention, datasets


class SqlDatasetStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def open_build(self, build: str, name: str, run_id: str) -> dict[str, Any]:
        return await self._db.write(lambda tx: datasets.open_build(tx, build, name, run_id))

    async def note_build(self, build: str, progress: Mapping[str, Any]) -> None:
        await self._db.write(lambda tx: datasets.note_build(tx, build, progress))

    async def add_images(self, build: str, found: Sequence[FoundImage], limit: int | None) -> tuple[int, int]:
        return await self._db.write(lambda tx: datasets.add_images(tx, build, found, limit))

    async def begin_download(self, build: str, recipes: Sequence[str], *, retries: bool) -> int:
        return await self._db.write(lambda tx: datasets.begin_download(tx, build, recipes, retries=retries))

    async def step_download(
        self, build: str, results: Sequence[ImageResult], limit: int
    ) -> tuple[list[ImageRow], int, float | None]:
        return await self._db.write(lambda tx: datasets.step_download(tx, build, results, limit))

    async def count_images(self, build: str) -> list[tuple[str, str, int]]:
        return await self._db.read_slow(lambda tx: datasets.count_images(tx, build))

    async def page_images(self, build: str, after: str, limit: int) -> list[ImageRow]:
        return await self._db.read_slow(lambda tx: datasets.page_images(tx, build, after, limit))

    async def judge_images(self, build: str, verdicts: Sequence[ImageVerdict]) -> None:
        await self._db.write(lambda tx: datasets.judge_images(tx, build, verdicts))

    async def add_pairs(self, build: str, pairs: Sequence[NearPair], indexed: Sequence[str]) -> None:
        await self._db.write(lambda tx: datasets.add_pairs(tx, build, pairs, indexed))

    async def forget_pairs(self, build: str) -> None:
        await self._db.write(lambda tx: datasets.forget_pairs(tx, build))

    async def near_pairs(self, build: str, distance: int) -> list[NearPair]:
        return await self._db.read_slow(lambda tx: datasets.near_pairs(tx, build, distance))

    async def list_builds(self) -> set[str]:
        return await self._db.read_slow(dataset_retention.list_builds)
