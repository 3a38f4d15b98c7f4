"""Keeping the folder of artifacts within its room, and free of files that no run names."""

import asyncio

import structlog

from corral.artifacts import ArtifactFolder
from corral.domain.artifact import beyond_quota, orphans
from corral.domain.ports import ArtifactStore

log = structlog.get_logger()


class Tidying:
    def __init__(self, store: ArtifactStore, folder: ArtifactFolder, max_bytes: int) -> None:
        self._store = store
        self._folder = folder
        self._max_bytes = max_bytes

    async def tidy(self) -> None:
        try:
            await self._tidied()
        except OSError as error:
            log.warning("the folder of artifacts could not be tidied", reason=str(error))

    async def _tidied(self) -> None:
        """Rows go before files: a file without a row is found again, a row without a file promises too much."""
        held = await asyncio.to_thread(self._folder.held)
        if not held:
            return
        lost = orphans(held, await self._store.artifact_ids())
        kept = [file for file in held if file not in lost]
        excess = beyond_quota(kept, self._max_bytes)
        if excess:
            log.info("artifacts beyond their room are forgotten", files=len(excess))
            await self._store.forget_artifacts([file.id for file in excess])
        await asyncio.to_thread(self._folder.remove, [*lost, *excess])
