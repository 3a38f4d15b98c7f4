"""Keep the artifact folder within its size limit, and delete files that no row refers to."""

import asyncio
from typing import NamedTuple

import structlog

from corral.domain.errors import RunNotFound
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.artifact import beyond_quota, orphans
from corral.domain.runs.record import RecordFilter
from corral.files.artifacts import ArtifactFolder
from corral.files.build_folders import BuildFolders
from corral.files.saved_files import FileFolder

log = structlog.get_logger()

_DAY_S = 86_400.0


class KeptBuilds(NamedTuple):
    """The folders of dataset builds, and how long they outlive the rows of their build; None: for ever."""

    folders: BuildFolders
    max_age_days: float | None = None


class Tidying:
    def __init__(
        self,
        store: EngineStore,
        folder: ArtifactFolder,
        max_bytes: int,
        files: FileFolder,
        builds: KeptBuilds | None = None,
    ) -> None:
        self._files = files
        self._builds = builds
        self._store = store
        self._folder = folder
        self._max_bytes = max_bytes

    async def tidy(self) -> None:
        try:
            await self._tidy()
            await self._without_forgotten()
            await self._remove_builds()
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

    async def _remove_builds(self) -> None:
        """Remove the pack files of builds that retention has deleted.

        A folder has to be as old as a build that is deleted: it may belong to another database of the same folder.
        """
        if self._builds is None or self._builds.max_age_days is None:
            return
        folders, min_age_s = self._builds.folders, self._builds.max_age_days * _DAY_S
        found = await asyncio.to_thread(folders.list_builds)
        known = await self._store.datasets.list_builds() if found else set()
        for build in found:
            if build not in known and await asyncio.to_thread(folders.remove, build, min_age_s):
                log.info("dataset_packs_removed", build=build)
