"""Site memory: which strategy fills which fields."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "site_memory",
        sa.Column("host", sa.Text, primary_key=True),
        sa.Column("fields_key", sa.Text, primary_key=True),
        sa.Column("strategy", sa.Text, primary_key=True),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.Column("weight", sa.Double, nullable=False),
        sa.Column("successes", sa.Double, nullable=False),
        sa.Column("asked", sa.Double, nullable=False),
        sa.Column("found", sa.Double, nullable=False),
        sa.Column("cost_ms", sa.Double, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
