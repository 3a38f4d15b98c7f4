"""Keep the artifact folder within its size limit, and delete files that no run refers to."""

import asyncio

import structlog

from corral.domain.errors import RunNotFound
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.artifact import beyond_quota, orphans
from corral.domain.runs.record import RecordFilter
from corral.files.artifacts import ArtifactFolder
from corral.files.saved_files import FileFolder

log = structlog.get_logger()


class Tidying:
    def __init__(self, store: EngineStore, folder: ArtifactFolder, max_bytes: int, files: FileFolder) -> None:
        self._files = files
        self._store = store
        self._folder = folder
        self._max_bytes = max_bytes

    async def tidy(self) -> None:
        try:
            await self._tidy()
            await self._without_forgotten()
        except OSError as error:
            log.warning("artifact_cleanup_failed", reason=str(error))

    async def _tidy(self) -> None:
        """Delete rows before files: a later cleanup finds a file without a row, but a row without a file is broken."""
        held = await asyncio.to_thread(self._folder.list_files)
        if not held:
            return
        lost = orphans(held, await self._store.artifacts.list_ids())
        keep = [file for file in held if file not in lost]
        excess = beyond_quota(keep, self._max_bytes)
        if excess:
            log.info("artifacts_evicted", files=len(excess))
            await self._store.artifacts.forget([file.id for file in excess])
        await asyncio.to_thread(self._folder.remove, [*lost, *excess])

    async def _without_forgotten(self) -> None:
        """Keep saved files while a record refers to them."""
        for run_id in await asyncio.to_thread(self._files.runs):
            try:
                await self._store.runs.get(run_id)
            except RunNotFound:
                if not (await self._store.records.statistics(RecordFilter(run_id=run_id)))[0]:
                    await asyncio.to_thread(self._files.remove, [run_id])
