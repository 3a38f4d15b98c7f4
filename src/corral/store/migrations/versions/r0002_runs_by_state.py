"""Listing by state stays quick beside a million finished runs; the feed keeps its order on PostgreSQL."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

# `completed` has no index: almost every finished run is, so the newest are found by walking the ids.
_LISTED = ("held", "partial", "failed", "cancelled")


def upgrade() -> None:
    for state in _LISTED:
        condition = sa.text(f"state = '{state}'")
        op.create_index(f"runs_{state}", "runs", ["id"], sqlite_where=condition, postgresql_where=condition)
    if op.get_bind().dialect.name == "postgresql":
        _note_horizons()


def _note_horizons() -> None:
    """Note with each event a number above every transaction that can have taken a smaller position.

    A trigger, because it runs after the position was given, and sees the transactions of that moment.
    """
    op.execute("ALTER TABLE events ADD COLUMN horizon xid8 NOT NULL DEFAULT '0'")
    op.execute(
        "CREATE FUNCTION corral_note_horizon() RETURNS trigger LANGUAGE plpgsql VOLATILE AS "
        "$$ BEGIN NEW.horizon := pg_snapshot_xmax(pg_current_snapshot()); RETURN NEW; END $$"
    )
    op.execute(
        "CREATE TRIGGER events_horizon BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION corral_note_horizon()"
    )
