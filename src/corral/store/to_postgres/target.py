"""The PostgreSQL database that an installation migrates to: checks, and the marker of a migration."""

from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from corral.domain.errors import BadInput, StorageUnusable
from corral.store import schema
from corral.store.backends.migration_marks import KEY, Mark, MoveState
from corral.store.backends.open_postgres import WHERE, connect, version_in
from corral.store.backends.postgres import PostgresTx
from corral.store.tables import meta, metadata
from corral.store.to_postgres.requeue import requeue
from corral.store.tx import Compiler, FeedGaps

Target = psycopg.Connection[Any]

_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_IS_THERE = "SELECT to_regclass(%s) IS NOT NULL"
_READ_MARK = "SELECT value FROM corral_meta WHERE key = %s"
_WRITE_MARK = "INSERT INTO corral_meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"


def address_of(url: str) -> str:
    """Return host, port and name of the database, without user and password."""
    try:
        fields = conninfo_to_dict(url.replace("postgresql+psycopg://", "postgresql://", 1))
    except psycopg.ProgrammingError:
        hint = "it looks like postgresql://user:password@host:5432/database"
        raise BadInput("the target is not the address of a PostgreSQL database", field="url", hint=hint) from None
    host, port = fields.get("host") or "localhost", fields.get("port") or 5432
    return f"{host}:{port}/{fields.get('dbname') or fields.get('user') or ''}"


def faults(url: str, instance: str) -> list[str]:
    """Return why nothing can be migrated there; changes nothing."""
    with connect(url, "the target address") as target:
        version = version_in(target)
        schema.check_version(version, WHERE)
        return [] if version is None else find_conflicts(target, instance)


def find_conflicts(target: Target, instance: str) -> list[str]:
    """Return reasons not to use the target.

    An unfinished migration of the same installation is none: it is replaced.
    """
    mark = read_mark(target)
    is_ours = mark is not None and mark.instance == instance and mark.state is MoveState.ARRIVING
    return [] if is_ours else _with_rows(target)


def _with_rows(target: Target) -> list[str]:
    found = []
    for table in metadata.sorted_tables:
        name = sql.Identifier(table.name)
        [(is_there,)] = target.execute(_IS_THERE, (table.name,)).fetchall()
        if is_there and table is not meta:
            [(has_rows,)] = target.execute(sql.SQL("SELECT EXISTS (SELECT FROM {})").format(name)).fetchall()
            if has_rows:
                found.append(table.name)
    if not found:
        return []
    several = f"there are rows in {', '.join(found)}"
    return [
        f"the target is not empty: {several}; move to an empty database, for example one made with `createdb corral`"
    ]


def lock(target: Target) -> None:
    """Lock every table of the target until the transaction ends."""
    names = sql.SQL(", ").join(sql.Identifier(table.name) for table in metadata.sorted_tables)
    try:
        target.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(names))
    except psycopg.errors.LockNotAvailable as error:
        raise StorageUnusable(
            "another program is using the target", hint="stop what uses that database, or choose another one"
        ) from error


def empty(target: Target) -> None:
    """Delete the rows that an unfinished migration left."""
    names = sql.SQL(", ").join(sql.Identifier(table.name) for table in metadata.sorted_tables)
    target.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY").format(names))


def read_mark(target: Target) -> Mark | None:
    row = target.execute(_READ_MARK, (KEY,)).fetchone()
    return None if row is None else Mark.read(str(row[0]))


def write_mark(target: Target, mark: Mark) -> None:
    target.execute(_WRITE_MARK, (KEY, mark.text()))


def now_ms(target: Target) -> int:
    [(now,)] = target.execute(_NOW).fetchall()
    return int(now)


def requeue_runs(target: Target) -> int:
    """Queue the runs that were running in the old database; return their number."""
    compiler = Compiler(PGDialect_psycopg(paramstyle="format"))  # type: ignore[no-untyped-call]
    tx = PostgresTx(target, compiler, FeedGaps())
    tx.now_ms = tx.wall_ms = now_ms(target)
    return requeue(tx)
