"""Listing by state stays quick beside a million finished runs; the feed of all runs keeps its order on PostgreSQL."""

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
        # Positions are taken before the commit and become visible in another order; readers of the feed
        # therefore stop before the oldest transaction still open, which needs each row's own.
        op.execute("ALTER TABLE events ADD COLUMN transaction_id bigint")
        op.execute(
            "ALTER TABLE events ALTER COLUMN transaction_id SET DEFAULT pg_current_xact_id()::text::bigint"
        )
