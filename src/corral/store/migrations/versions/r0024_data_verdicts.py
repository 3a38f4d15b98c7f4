"""Profiles of good data, and the runs whose records are withheld because of their verdict."""

import sqlalchemy as sa
from alembic import op

from corral.store.tables import Document

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.create_table(
        "data_profiles",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("template", sa.Text, primary_key=True),
        sa.Column("document", Document, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "withheld_runs",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("template", sa.Text, nullable=False),
        sa.Column("profile", Document, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
