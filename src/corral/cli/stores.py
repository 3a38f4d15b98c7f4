"""The store for verbs that read."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from corral.runtime.private_files import know_data_folder
from corral.settings import Settings
from corral.store.open import open_for_reading
from corral.store.store import Store


@asynccontextmanager
async def read_store(settings: Settings) -> AsyncIterator[Store]:
    """Open the store read-only. A missing database is not created; it reads as empty."""

    know_data_folder(settings.data_dir)
    store = open_for_reading(settings.store_url)
    try:
        yield store
    finally:
        await store.close()


def database_file(settings: Settings) -> Path | None:
    """Return the file of a SQLite database, or None for another database."""
    path = settings.store_url.removeprefix("sqlite:///")
    return None if path == settings.store_url else Path(path)
