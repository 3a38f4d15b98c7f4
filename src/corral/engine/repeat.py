"""The loop of a background task that works on the store."""

import asyncio
from collections.abc import Awaitable, Callable

from corral.domain.errors import StorageError, StorageMoved


async def repeat_step(
    step: Callable[[], Awaitable[None]], every_s: float, report: Callable[[StorageError], None]
) -> None:
    """Repeat the step with a pause of `every_s`; return when the database was migrated to another one.

    Any other storage error is reported, and the step is tried again: the database may be back by then.
    """
    while True:
        try:
            await step()
        except StorageMoved:
            return
        except StorageError as error:
            report(error)
        await asyncio.sleep(every_s)
