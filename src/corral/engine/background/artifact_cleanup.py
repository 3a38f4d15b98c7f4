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


class BuildRetention(NamedTuple):
    """The folders of dataset builds, and how long they outlive the rows of their build (None: forever)."""

    folders: BuildFolders
    max_age_days: float | None = None


class Tidying:
    def __init__(
        self,
        store: EngineStore,
        folder: ArtifactFolder,
        max_bytes: int,
        files: FileFolder,
        builds: BuildRetention | None = None,
    ) -> None:
        self._files = files
        self._builds = builds
        self._store = store
        self._folder = folder
        self._max_bytes = max_bytes

    async def tidy(self) -> None:
        try:
            await self._tidy()
            await self._remove_unreferenced()
            await self._remove_builds()
        except OSError as error:
            log.warning("artifact_cleanup_failed", reason=str(error))

    async def _tidy(self) -> None:
        """Delete rows before files: a later cleanup finds a file without a row, but a row without a file is broken."""
        files = await asyncio.to_thread(self._folder.list_files)
        if not files:
            return
        orphaned = orphans(files, await self._store.artifacts.list_ids())
        referenced = [file for file in files if file not in orphaned]
        excess = beyond_quota(referenced, self._max_bytes)
        if excess:
            log.info("artifacts_evicted", files=len(excess))
            await self._store.artifacts.forget([file.id for file in excess])
        await asyncio.to_thread(self._folder.remove, [*orphaned, *excess])

    async def _remove_unreferenced(self) -> None:
        """Remove the saved files of deleted runs that no record refers to."""
        for run_id in await asyncio.to_thread(self._files.runs):
            try:
                await self._store.runs.get(run_id)
            except RunNotFound:
                if not (await self._store.records.statistics(RecordFilter(run_id=run_id)))[0]:
                    await asyncio.to_thread(self._files.remove, [run_id])

    async def _remove_builds(self) -> None:
        """Remove the pack files of builds that retention has deleted.

        A folder must have reached the retention age, because it may belong to another database of the same folder.
        """
        if self._builds is None or self._builds.max_age_days is None:
            return
        folders, min_age_s = self._builds.folders, self._builds.max_age_days * _DAY_S
        builds = await asyncio.to_thread(folders.list_builds)
        stored = await self._store.datasets.list_builds() if builds else set()
        for build in builds:
            if build not in stored and await asyncio.to_thread(folders.remove, build, min_age_s):
                log.info("dataset_packs_removed", build=build)
