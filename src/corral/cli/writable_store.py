"""The store for verbs that write."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from corral.log import configure_logging
from corral.runtime.private_files import make_data_folder
from corral.settings import Settings
from corral.store.open import open_store
from corral.store.store import Store


@asynccontextmanager
async def open_writable_store(settings: Settings) -> AsyncIterator[Store]:
    """Open only the store, for verbs that write to it: loading the rest of the application takes time."""

    configure_logging("warning")  # otherwise warnings would go to standard output
    make_data_folder(settings.data_dir)
    store = open_store(settings.store_url)
    try:
        yield store
    finally:
        await store.close()
