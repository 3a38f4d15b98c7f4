"""Keep listing by state fast beside a million finished runs."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

# `completed` has no index: almost every finished run is completed, so the newest are found by walking the ids.
_LISTED = ("queued", "held", "partial", "failed", "cancelled")


def upgrade() -> None:
    for state in _LISTED:
        condition = sa.text(f"state = '{state}'")
        op.create_index(f"runs_{state}", "runs", ["id"], sqlite_where=condition, postgresql_where=condition)
