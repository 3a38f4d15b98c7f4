"""The row of the autonomous loop."""

import sqlalchemy as sa
from alembic import op

from corral.store.table_types import Document, Millis

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.create_table(
        "loops",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("is_on", sa.SmallInteger, nullable=False),
        sa.Column("every_s", sa.Double, nullable=False),
        sa.Column("windows", Document, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("lease_until", Millis, nullable=False),
        sa.Column("next_at", Millis, nullable=False),
        sa.Column("run_id", sa.Text),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("last", Document, nullable=False),
    )
