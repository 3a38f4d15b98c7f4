"""Opening a PostgreSQL database. Apart from the rest, because loading the driver costs who uses SQLite a start."""

import psycopg
import sqlalchemy as sa

from corral.domain.errors import CorralError
from corral.store import schema
from corral.store.postgres import PostgresDatabase
from corral.store.postgres_errors import translated

_WHERE = "the PostgreSQL database"
_MIGRATION_LOCK = 0x636F7272616C  # "corral": one migrator at a time on a server
_CONNECT_S = 5


def opened(url: str) -> PostgresDatabase:
    """The database, brought to our schema version."""
    plain = _plain(url)
    try:
        with psycopg.connect(plain, connect_timeout=_CONNECT_S) as connection:
            if not schema.check_version(_version(connection), _WHERE):
                _migrate(connection, plain)
    except (psycopg.Error, sa.exc.DBAPIError) as error:
        raise _translated(error) from error
    return PostgresDatabase(plain)


def opened_for_reading(url: str) -> PostgresDatabase | None:
    """The database as it is; None where it is empty."""
    found = version_of(url)
    if found is None:
        return None
    if not schema.check_version(found, _WHERE):
        raise schema.too_old(found, _WHERE)
    return PostgresDatabase(_plain(url))


def version_of(url: str) -> str | None:
    """The schema version; None where the database is empty. Nothing is changed."""
    try:
        with psycopg.connect(_plain(url), connect_timeout=_CONNECT_S) as connection:
            return _version(connection)
    except psycopg.Error as error:
        raise _translated(error) from error


def _migrate(connection: psycopg.Connection[tuple[object, ...]], plain: str) -> None:
    connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
    connection.commit()
    # Somebody else may have migrated while we waited for the lock.
    if not schema.check_version(_version(connection), _WHERE):
        connection.commit()
        address = plain.replace("postgresql://", "postgresql+psycopg://", 1)
        schema.upgrade(sa.create_engine(address, poolclass=sa.pool.NullPool))
    connection.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATION_LOCK,))


def _plain(url: str) -> str:
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


def _translated(error: Exception) -> CorralError:
    cause = getattr(error, "orig", None)
    return translated(cause if isinstance(cause, Exception) else error)


def _version(connection: psycopg.Connection[tuple[object, ...]]) -> str | None:
    row = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
    if row is None or row[0] is None:
        return None
    version = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    if version is None:
        raise schema.version_lost(_WHERE)
    return str(version[0])
