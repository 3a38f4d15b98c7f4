"""Stop the node of this process."""

import asyncio
import sys

from corral.cli.running import Stop
from corral.domain.errors import StorageError, StorageMoved
from corral.wiring.app import App

_STORAGE_ANSWERS_S = 1.0


async def stop_working(app: App, stop: Stop) -> None:
    """Let running runs finish within the grace period, and requeue the rest."""
    storage_check = asyncio.create_task(_wait_for_storage(app, stop), name="storage")
    if app.node is not None and app.node.executing:
        grace_s = app.settings.shutdown_grace_seconds
        message = f"stopping: {app.node.executing} running may finish within {grace_s:g} s; a second signal stops them"
        print(message, file=sys.stderr, flush=True)
    try:
        await app.stop_work()
        await asyncio.wait({storage_check}, timeout=_STORAGE_ANSWERS_S)
    finally:
        storage_check.cancel()
        await asyncio.gather(storage_check, return_exceptions=True)


async def _wait_for_storage(app: App, stop: Stop) -> None:
    """Wait until the storage answers, then extend the deadline of the process."""
    while True:
        try:
            await app.store.ping()
        except StorageMoved:
            return  # the database was migrated: nothing is written there again
        except StorageError:
            await asyncio.sleep(0.1)
        else:
            stop.extend_deadline()
            return
