"""Translate errors of the PostgreSQL driver into errors of Corral."""

import psycopg
from psycopg import errors

from corral.domain.errors import (
    BadInput,
    CorralError,
    StorageError,
    StorageFull,
    StorageUnavailable,
    StorageUnusable,
)
from corral.domain.redaction import redact

_UNUSABLE = (
    errors.DuplicateTable,
    errors.InvalidCatalogName,
    errors.InsufficientPrivilege,
    errors.ReadOnlySqlTransaction,
    errors.InvalidPassword,
    errors.InvalidAuthorizationSpecification,
)


class ServerGone(StorageUnavailable):
    """The server accepts no connections, so other waiting operations need not try."""

    def __init__(self, cause: CorralError) -> None:
        super().__init__(cause.message, hint=cause.hint)


def translate_error(error: Exception) -> CorralError:
    # The driver quotes a connection string that it cannot parse, including the password.
    text = redact(str(error).strip().splitlines()[0]) if str(error).strip() else type(error).__name__
    if isinstance(error, errors.DiskFull):
        return StorageFull("PostgreSQL has no room left", hint="free disk space on the database server")
    if isinstance(error, errors.UndefinedTable | errors.UndefinedColumn):
        return StorageUnusable(f"PostgreSQL: {text}", hint="restore it from a backup; Corral then continues by itself")
    if isinstance(error, _UNUSABLE):
        return StorageUnusable(f"PostgreSQL: {text}", hint="check APP_DATABASE_URL")
    if isinstance(error, psycopg.DataError | OverflowError):
        return BadInput(f"PostgreSQL cannot take this value: {text}")
    if isinstance(error, psycopg.IntegrityError):
        return StorageError(f"PostgreSQL refused a row: {text}", hint="please report this")
    return StorageUnavailable(
        f"PostgreSQL does not answer as it should: {text}",
        hint="check that the server in APP_DATABASE_URL is up",
    )
