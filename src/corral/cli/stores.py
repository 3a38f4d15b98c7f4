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
    """For verbs and dry runs that only look. A database that is not there yet is not created, and holds nothing."""

    know_data_folder(settings.data_dir)
    store = open_for_reading(settings.store_url)
    try:
        yield store
    finally:
        await store.close()


def database_file(settings: Settings) -> Path | None:
    """The file of a SQLite database; None where the database is elsewhere."""
    path = settings.store_url.removeprefix("sqlite:///")
    return None if path == settings.store_url else Path(path)
