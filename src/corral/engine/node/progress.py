"""Messages about active runs: progress, which is stored, and script output for a waiting person."""

from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from corral.domain.errors import StorageError
from corral.domain.ports.stores import RunStore
from corral.engine.held_lease import HeldLease

log = structlog.get_logger()


class ProgressWriter:
    def __init__(
        self,
        runs: RunStore,
        write: Callable[[Coroutine[Any, Any, Any]], None],
        beat: Callable[[], None],
    ) -> None:
        self._runs = runs
        self._write = write
        self._beat = beat
        self.on_output: Callable[[str, str], None] = lambda _stream, _text: None
        self.on_progress: Callable[[dict[str, Any]], None] = lambda _: None

    def take(self, held: HeldLease, progress: dict[str, Any]) -> None:
        if "output" in progress:
            self.on_output(*progress["output"])
        else:
            self.on_progress(progress)
            self._write(self._store(held, progress))

    async def _store(self, held: HeldLease, progress: dict[str, Any]) -> None:
        """Write the progress once, without a retry: the next progress, or the end of the run, supersedes it."""
        try:
            await self._runs.note_progress(held.lease, progress)
        except StorageError as error:
            log.debug("progress_not_stored", run=held.lease.run_id, reason=error.message)
        self._beat()
