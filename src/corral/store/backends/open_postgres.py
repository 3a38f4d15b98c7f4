"""Open a PostgreSQL database. A separate module, because loading the driver would slow down every SQLite start."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import sqlalchemy as sa

from corral.domain.errors import CorralError, StorageUnusable
from corral.store import schema
from corral.store.backends import migration_marks
from corral.store.backends.postgres import PostgresDatabase
from corral.store.backends.postgres_errors import translate_error

WHERE = "the PostgreSQL database"
_MIGRATION_LOCK = 0x636F7272616C  # "corral": only one process migrates a server at a time
_CONNECT_S = 5

Connection = psycopg.Connection[tuple[object, ...]]


def open_database(url: str) -> PostgresDatabase:
    """Return the database, migrated to the current schema version."""
    plain = _plain(url)
    try:
        with psycopg.connect(plain, connect_timeout=_CONNECT_S) as connection:
            if not schema.check_version(version_in(connection), WHERE):
                migrate(connection, plain)
            refuse_unfinished(connection)
    except (psycopg.Error, sa.exc.DBAPIError) as error:
        raise _translate(error) from error
    return PostgresDatabase(plain)


def open_readonly(url: str) -> PostgresDatabase | None:
    """Return the database read-only and unchanged; None if it is empty."""
    found = version_of(url)
    if found is None:
        return None
    if not schema.check_version(found, WHERE):
        raise schema.too_old(found, WHERE)
    with connect(url) as connection:
        refuse_unfinished(connection)
    return PostgresDatabase(_plain(url))


def version_of(url: str) -> str | None:
    """Return the schema version, without changes to the database; None if it is empty."""
    with connect(url) as connection:
        return version_in(connection)


@contextmanager
def connect(url: str, setting: str = "APP_DATABASE_URL") -> Iterator[Connection]:
    """Yield one connection; raise CorralError instead of driver errors."""
    try:
        with psycopg.connect(_plain(url), connect_timeout=_CONNECT_S) as connection:
            yield connection
    except (psycopg.Error, sa.exc.DBAPIError) as error:
        translated = _translate(error)
        translated.hint = translated.hint and translated.hint.replace("APP_DATABASE_URL", setting)
        raise translated from error


def refuse_unfinished(connection: Connection) -> None:
    """Refuse a database whose migration is unfinished: the SQLite file may still be written to."""
    row = connection.execute("SELECT value FROM corral_meta WHERE key = %s", (migration_marks.KEY,)).fetchone()
    if row is not None and migration_marks.Mark.read(str(row[0])).state is migration_marks.MoveState.ARRIVING:
        raise StorageUnusable(
            "the migration into this PostgreSQL database is not finished",
            hint="run `corral db migrate-to` again, with the settings of the installation it comes from",
        )


def migrate(connection: Connection, url: str) -> None:
    connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
    connection.commit()
    # Another process may have migrated the database while this one waited for the lock.
    if not schema.check_version(version_in(connection), WHERE):
        connection.commit()
        schema.upgrade_apart(lambda: _upgrade(url))
    connection.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATION_LOCK,))


def _upgrade(url: str) -> None:
    address = _plain(url).replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        schema.upgrade(sa.create_engine(address, poolclass=sa.pool.NullPool))
    except sa.exc.DBAPIError as error:
        raise _translate(error) from error


def _plain(url: str) -> str:
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


def _translate(error: Exception) -> CorralError:
    cause = getattr(error, "orig", None)
    return translate_error(cause if isinstance(cause, Exception) else error)


def version_in(connection: Connection) -> str | None:
    row = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
    if row is None or row[0] is None:
        return None
    version = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    if version is None:
        raise schema.version_lost(WHERE)
    return str(version[0])
