"""Site statistics, pinned crawls, and the remaining rows of deleted crawls."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "site_statistics",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("host", sa.Text, primary_key=True),
        sa.Column("state", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("took_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    op.create_index("site_statistics_by_host", "site_statistics", ["host"])
    op.create_table(
        "kept_runs",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "leftovers",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("with_records", sa.SmallInteger, nullable=False),
    )
