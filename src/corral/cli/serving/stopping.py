"""Stop the node of this process."""

import asyncio
import sys

from corral.cli.running import Stop
from corral.domain.errors import StorageError, StorageMoved
from corral.wiring.app import App

_STORAGE_ANSWERS_S = 1.0


async def stop_working(app: App, stop: Stop) -> None:
    """Let running runs finish within the grace period, and requeue the rest."""
    asking = asyncio.create_task(_wait_for_storage(app, stop), name="storage")
    if app.node is not None and app.node.executing:
        grace_s = app.settings.shutdown_grace_seconds
        said = f"stopping: {app.node.executing} under way may finish within {grace_s:g} s; once more stops at once"
        print(said, file=sys.stderr, flush=True)
    try:
        await app.stop_work()
        await asyncio.wait({asking}, timeout=_STORAGE_ANSWERS_S)
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


async def _wait_for_storage(app: App, stop: Stop) -> None:
    """Wait until the storage answers; the process does not wait for it beyond its deadline."""
    while True:
        try:
            await app.store.ping()
        except StorageMoved:
            return  # the database was migrated: nothing is written there again
        except StorageError:
            await asyncio.sleep(0.1)
        else:
            stop.storage_answers()
            return
