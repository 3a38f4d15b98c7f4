"""Open a store by its URL: check it, migrate it, set its clock.

The modules of each backend are imported only when that backend is used.
"""

from pathlib import Path
from urllib.parse import urlsplit

from corral.domain.errors import StorageUnusable
from corral.store.backends.clock import Clock
from corral.store.store import Store


def open_store(url: str, *, clock: Clock | None = None) -> Store:
    """Return the store at `sqlite:///path`, `sqlite://` (in memory) or `postgresql://…`."""
    if not _is_postgres(url):
        from corral.store.backends import open_sqlite  # noqa: PLC0415

        return Store(open_sqlite.open_database(url, clock))
    from corral.store.backends import open_postgres  # noqa: PLC0415 - its driver takes a while to load

    return Store(open_postgres.open_database(url))


def open_for_reading(url: str) -> Store:
    """Return the store for reading only, without creating, migrating or locking anything."""
    from corral.store.backends import readonly  # noqa: PLC0415

    if not _is_postgres(url):
        from corral.store.backends import open_sqlite  # noqa: PLC0415

        return Store(open_sqlite.open_readonly(url) or readonly.Nothing())
    from corral.store.backends import open_postgres  # noqa: PLC0415

    return Store(open_postgres.open_readonly(url) or readonly.Nothing())


def version_of(url: str) -> str | None:
    """Return the schema version, without changes to the database; None if there is none yet."""
    if not _is_postgres(url):
        from corral.store.backends import open_sqlite  # noqa: PLC0415

        return open_sqlite.version_of(url)
    from corral.store.backends import open_postgres  # noqa: PLC0415

    return open_postgres.version_of(url)


def bring_up(path: Path, clock: Clock | None = None) -> None:
    """Migrate a file to the current schema version and set its clock, as a start does."""
    from corral.store.backends import open_sqlite  # noqa: PLC0415

    open_sqlite.open_database(f"sqlite:///{path}", clock).close_now()


def _is_postgres(url: str) -> bool:
    scheme = urlsplit(url).scheme
    if scheme not in ("sqlite", "postgresql", "postgresql+psycopg"):
        raise StorageUnusable(
            f"APP_DATABASE_URL starts with {scheme or 'nothing'}://, which is not a database Corral knows",
            hint="use sqlite:///path/to/corral.db or postgresql://user@host/database",
        )
    return scheme != "sqlite"
