"""The schema version of a database, and its migration to the current one."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from corral.domain.errors import StorageUnusable
from corral.runtime.forked_work import run_apart

HEAD = "0032"
_KNOWN = tuple(f"{number:04}" for number in range(1, int(HEAD) + 1))
_MIGRATIONS = Path(__file__).parent / "migrations"


def check_version(found: str | None, where: str) -> bool:
    """Return True if the schema is current, False if it needs migration; raise StorageUnusable for a newer one."""
    if found is not None and found not in _KNOWN:
        raise StorageUnusable(
            f"{where} has schema version {found}; this version of Corral knows only up to {HEAD}",
            hint="install the newer Corral that wrote it, or restore an older backup; nothing was changed",
        )
    return found == HEAD


def version_lost(where: str) -> StorageUnusable:
    """Return the error for tables without a version: a guess could damage them."""
    return StorageUnusable(
        f"{where} has no schema version (its table alembic_version is empty)",
        hint="restore a backup; nothing was changed",
    )


def too_old(found: str, where: str) -> StorageUnusable:
    """Return the error for readers, which do not migrate."""
    return StorageUnusable(
        f"{where} has schema version {found}; this version of Corral reads {HEAD}",
        hint=f"back it up, then start `corral up` once: that brings it to {HEAD}",
    )


def upgrade(engine: sa.Engine, revision: str = HEAD) -> None:
    """Run the missing migrations in one transaction."""
    # Imported here: a start without a migration must not load Alembic.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def upgrade_apart(upgrade_all: Callable[[], None]) -> None:
    """Upgrade in a forked process, because Alembic keeps ten megabytes of memory once loaded."""
    if "alembic" in sys.modules:
        upgrade_all()
    else:
        run_apart(upgrade_all)


def sqlite_engine(connection: Any) -> sa.Engine:
    """Return SQLAlchemy over an open connection, so that both use the same SQLite library."""
    import pysqlite3  # noqa: PLC0415

    engine = sa.create_engine("sqlite://", module=pysqlite3, creator=lambda: connection, poolclass=sa.pool.StaticPool)

    @sa.event.listens_for(engine, "begin")
    def begin(opened: sa.Connection) -> None:
        opened.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
