"""Keeping the folder of artifacts within its room, and both folders free of files that no run names."""

import asyncio
from typing import Protocol

import structlog

from corral.domain.errors import RunNotFound
from corral.domain.ports import ArtifactStore
from corral.domain.runs.artifact import beyond_quota, orphans
from corral.domain.runs.record import RecordFilter
from corral.domain.runs.run import Run
from corral.files.artifacts import ArtifactFolder
from corral.files.saved_files import FileFolder

log = structlog.get_logger()


class TidiedStore(ArtifactStore, Protocol):
    async def run(self, run_id: str) -> Run: ...

    async def record_statistics(self, wanted: RecordFilter) -> tuple[int, int, int, int | None, int | None]: ...


class Tidying:
    def __init__(self, store: TidiedStore, folder: ArtifactFolder, max_bytes: int, files: FileFolder) -> None:
        self._files = files
        self._store = store
        self._folder = folder
        self._max_bytes = max_bytes

    async def tidy(self) -> None:
        try:
            await self._tidied()
            await self._without_forgotten()
        except OSError as error:
            log.warning("the folder of artifacts could not be tidied", reason=str(error))

    async def _tidied(self) -> None:
        """Rows go before files: a file without a row is found again, a row without a file promises too much."""
        held = await asyncio.to_thread(self._folder.list_files)
        if not held:
            return
        lost = orphans(held, await self._store.artifact_ids())
        kept = [file for file in held if file not in lost]
        excess = beyond_quota(kept, self._max_bytes)
        if excess:
            log.info("artifacts beyond their room are forgotten", files=len(excess))
            await self._store.forget_artifacts([file.id for file in excess])
        await asyncio.to_thread(self._folder.remove, [*lost, *excess])

    async def _without_forgotten(self) -> None:
        """Files outlive their run as long as a record names them."""
        for run_id in await asyncio.to_thread(self._files.runs):
            try:
                await self._store.run(run_id)
            except RunNotFound:
                if not (await self._store.record_statistics(RecordFilter(run_id=run_id)))[0]:
                    await asyncio.to_thread(self._files.remove, [run_id])
