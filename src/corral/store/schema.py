"""Which version a database has, and bringing it to ours."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from corral.domain.errors import StorageUnusable
from corral.runtime.forked_work import run_apart

HEAD = "0019"
_KNOWN = tuple(f"{number:04}" for number in range(1, int(HEAD) + 1))
_MIGRATIONS = Path(__file__).parent / "migrations"


def check_version(found: str | None, where: str) -> bool:
    """True where the schema is ours, False where it has to be brought to it; refuses a newer one."""
    if found is not None and found not in _KNOWN:
        raise StorageUnusable(
            f"{where} has schema version {found}; this version of Corral knows only up to {HEAD}",
            hint="install the newer Corral that wrote it, or restore an older backup; nothing was changed",
        )
    return found == HEAD


def version_lost(where: str) -> StorageUnusable:
    """Tables are there, but not which version they are of: guessing could change them wrongly."""
    return StorageUnusable(
        f"{where} does not say which schema version it has (its table alembic_version is empty)",
        hint="restore a backup; nothing was changed",
    )


def too_old(found: str, where: str) -> StorageUnusable:
    """For those who only look, and therefore migrate nothing."""
    return StorageUnusable(
        f"{where} has schema version {found}; this version of Corral reads {HEAD}",
        hint=f"back it up, then start `corral up` once: that brings it to {HEAD}",
    )


def upgrade(engine: sa.Engine, revision: str = HEAD) -> None:
    """Run the missing migrations in one transaction."""
    # Imported here: a start-up that has nothing to migrate should not pay for loading Alembic.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def upgrade_apart(upgrade_all: Callable[[], None]) -> None:
    """Upgrade in a fork, because Alembic, once loaded, takes ten megabytes for as long as the process lives."""
    if "alembic" in sys.modules:
        upgrade_all()
    else:
        run_apart(upgrade_all)


def sqlite_engine(connection: Any) -> sa.Engine:
    """SQLAlchemy over a connection of ours, so that both speak through the same SQLite library."""
    import pysqlite3  # noqa: PLC0415

    engine = sa.create_engine("sqlite://", module=pysqlite3, creator=lambda: connection, poolclass=sa.pool.StaticPool)

    @sa.event.listens_for(engine, "begin")
    def begin(opened: sa.Connection) -> None:
        opened.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
